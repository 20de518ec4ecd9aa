package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime is how long certificates are valid, before and after now. Clocks of one
// machine agree, so this only has to be longer than a test.
const lifetime = 24 * time.Hour

// An Authority signs the certificates of one cluster.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	bundle      []byte
	serial      int64
}

func newAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key of the certificate authority: %w", err)
	}
	template := certificateOf(1, "narwhal end-to-end tests")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	return &Authority{certificate: certificate, key: key, bundle: block("CERTIFICATE", der), serial: 1}, nil
}

func certificateOf(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-lifetime),
		NotAfter:     now.Add(lifetime),
	}
}

// Bundle is the certificate of the authority, in PEM. Clients trust what it has signed.
func (a *Authority) Bundle() []byte { return a.bundle }

// Issue makes the certificate of a server on this machine, which may have more names. The
// first one is in its subject. An authority is for one goroutine.
func (a *Authority) Issue(names ...string) (tls.Certificate, error) {
	certificate, key, err := a.issue(append(names, "localhost")...)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificate, key)
}

// issue returns the certificate and its key in PEM.
func (a *Authority) issue(names ...string) ([]byte, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("key of %s: %w", names[0], err)
	}
	a.serial++
	template := certificateOf(a.serial, names[0])
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = names
	template.IPAddresses = []net.IP{net.ParseIP(loopback), net.ParseIP(serviceOfAPIServer)}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate of %s: %w", names[0], err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("key of %s: %w", names[0], err)
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", private), nil
}

// write puts what the programs read into a folder: the bundle, the certificate of the API
// server, and the key that signs tokens of service accounts.
func (a *Authority) write(folder string) error {
	certificate, key, err := a.issue("kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost")
	if err != nil {
		return err
	}
	tokens, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("key of service accounts: %w", err)
	}
	files := map[string][]byte{
		bundleFile:      a.bundle,
		certificateFile: certificate,
		keyFile:         key,
		tokenKeyFile:    block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(tokens)),
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return fmt.Errorf("certificates: %w", err)
		}
	}
	return nil
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
