package ldap

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-ldap/ldap/v3"
	"gotest.tools/v3/assert"
)

const slapdConfig = `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
TLSCertificateFile DIR/cert.pem
TLSCertificateKeyFile DIR/key.pem
database mdb
suffix "dc=example,dc=com"
rootdn "cn=admin,dc=example,dc=com"
rootpw secret
directory DIR/data
overlay memberof
`

const slapdData = `dn: dc=example,dc=com
objectClass: domain
dc: example

dn: uid=ann,dc=example,dc=com
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: A
departmentNumber: research

dn: uid=bob,dc=example,dc=com
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: B
`

// slapd starts a real server with two users, and ends it with the test.
func slapd(t *testing.T) (plain, secure Config) {
	t.Helper()
	path, err := exec.LookPath("slapd")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/slapd")
	}
	if err != nil {
		t.Skip("slapd is not installed, so no real LDAP server is asked; the Debian package slapd has it")
	}
	dir := t.TempDir()
	put := func(name, text string) {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	assert.NilError(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
	roots := certificate(t, put)
	put("slapd.conf", strings.ReplaceAll(slapdConfig, "DIR", dir))
	put("data.ldif", slapdData)
	run := func(name string, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		assert.NilError(t, err, "%s", out)
	}
	run(filepath.Join(filepath.Dir(path), "slapadd"), "-f", filepath.Join(dir, "slapd.conf"), "-l", filepath.Join(dir, "data.ldif"))
	plain = Config{
		Host: "127.0.0.1", Port: freePort(t), BaseDN: "dc=example,dc=com", Filter: "(&(objectClass=inetOrgPerson)(uid=%s))",
		BindUser: "cn=admin,dc=example,dc=com", BindPassword: "secret", RootCAs: roots,
	}
	secure = plain
	secure.Port, secure.SSL = freePort(t), true
	listen(t, exec.CommandContext(t.Context(), path, "-d", "8", "-f", filepath.Join(dir, "slapd.conf"),
		"-h", fmt.Sprintf("ldap://127.0.0.1:%d ldaps://127.0.0.1:%d", plain.Port, secure.Port)))
	return plain, secure
}

// listen starts slapd and returns when it takes connections. It says so in its log of
// connections; where it goes to the background, it does so before. The context of
// the command ends it.
func listen(t *testing.T, server *exec.Cmd) {
	t.Helper()
	log, err := server.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, server.Start())
	lines := bufio.NewReader(log)
	var said strings.Builder
	for line := ""; !strings.Contains(line, ": listen="); said.WriteString(line) {
		line, err = lines.ReadString('\n')
		assert.NilError(t, err, "%s", said.String())
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, lines)
	}()
	t.Cleanup(func() { // the context of the test has ended by now, and the process with it
		<-read
		_ = server.Wait()
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// certificate writes one for this machine, with its key.
func certificate(t *testing.T, put func(name, text string)) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	assert.NilError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	assert.NilError(t, err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	put("cert.pem", string(cert))
	put("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	roots := x509.NewCertPool()
	assert.Assert(t, roots.AppendCertsFromPEM(cert))
	return roots
}

// TestARealServer asks slapd: with the groups that it keeps itself, with another attribute, in
// plain text and with TLS of both ways, and with names that are no names.
func TestARealServer(t *testing.T) {
	plain, secure := slapd(t)
	admin, err := ldap.DialURL(fmt.Sprintf("ldap://127.0.0.1:%d", plain.Port))
	assert.NilError(t, err)
	defer admin.Close()
	assert.NilError(t, admin.Bind(plain.BindUser, plain.BindPassword))
	for _, dn := range []string{"CN=Dev,dc=example,dc=com", "cn=ops,dc=example,dc=com"} {
		group := ldap.NewAddRequest(dn, nil)
		group.Attribute("objectClass", []string{"groupOfNames"})
		group.Attribute("member", []string{"uid=ann,dc=example,dc=com"})
		assert.NilError(t, admin.Add(group))
	}
	started := plain
	started.StartTLS = true
	for name, c := range map[string]Config{"plain": plain, "SSL": secure, "StartTLS": started} {
		t.Run(name, func(t *testing.T) {
			groups, err := resolver(t, c).Groups(t.Context(), "ann")
			assert.NilError(t, err)
			assert.DeepEqual(t, groups, []string{"ann", "Dev", "ops"})
			if c.SSL || c.StartTLS {
				c.RootCAs = nil
				_, err = resolver(t, c).Groups(t.Context(), "ann")
				assert.ErrorContains(t, err, "certificate")
				c.Insecure = true
				_, err = resolver(t, c).Groups(t.Context(), "ann")
				assert.NilError(t, err)
			}
		})
	}
	other := plain
	other.GroupAttribute = "departmentnumber"
	groups, err := resolver(t, other).Groups(t.Context(), "ann")
	assert.NilError(t, err)
	assert.DeepEqual(t, groups, []string{"ann", "research"})
	groups, err = resolver(t, plain).Groups(t.Context(), "bob")
	assert.NilError(t, err)
	assert.DeepEqual(t, groups, []string{"bob"})
	for _, name := range []string{"eve", "*", "ann)(uid=*", "a*n", `ann\`} {
		_, err := resolver(t, plain).Groups(t.Context(), name)
		assert.ErrorContains(t, err, "no such entry", "%q", name)
	}
	plain.Filter = "(|(objectClass=inetOrgPerson)(uid=%s))"
	_, err = resolver(t, plain).Groups(t.Context(), "ann")
	assert.ErrorContains(t, err, "more than one entry")
	plain.BindPassword = "wrong"
	_, err = resolver(t, plain).Groups(t.Context(), "ann")
	assert.ErrorContains(t, err, "Invalid Credentials")
}
