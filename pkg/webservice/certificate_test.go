package webservice

import (
	"bytes"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// A secret is a directory like that of a Secret that is mounted: the files are links through "..data", whose target is
// replaced as a whole.
type secret struct {
	t   *testing.T
	dir string
}

func newSecret(t *testing.T) *secret {
	s := &secret{t, t.TempDir()}
	for _, name := range []string{"tls.crt", "tls.key"} {
		assert.NilError(t, os.Symlink(filepath.Join("..data", name), s.file(name)))
	}
	return s
}

func (s *secret) file(name string) string { return filepath.Join(s.dir, name) }

// holds replaces what is in the directory by what two files have.
func (s *secret) holds(cert, key string) {
	s.t.Helper()
	target, err := os.MkdirTemp(s.dir, "..")
	assert.NilError(s.t, err)
	for name, from := range map[string]string{"tls.crt": cert, "tls.key": key} {
		text, err := os.ReadFile(from)
		assert.NilError(s.t, err)
		assert.NilError(s.t, os.WriteFile(filepath.Join(target, name), text, 0o600))
	}
	assert.NilError(s.t, os.Symlink(filepath.Base(target), s.file("..new")))
	assert.NilError(s.t, os.Rename(s.file("..new"), s.file("..data")))
}

// TestCertificateIsRenewed: files are looked at once a second. What is right there is served, what is wrong leaves the
// certificate before in use, and each is told once.
func TestCertificateIsRenewed(t *testing.T) {
	oldCert, oldKey, _ := certificate(t)
	newCert, newKey, _ := certificate(t)
	s := newSecret(t)
	s.holds(oldCert, oldKey)
	var told []string
	c, err := ReadCertificate(s.file("tls.crt"), s.file("tls.key"), func(err error) {
		if err != nil {
			told = append(told, err.Error())
			return
		}
		told = append(told, "renewed")
	})
	assert.NilError(t, err)
	now := c.looked
	first := c.at(now)

	s.holds(newCert, newKey)
	assert.Equal(t, c.at(now.Add(lookPause-1)), first, "not a second is over")
	second := c.at(now.Add(lookPause))
	assert.Assert(t, !bytes.Equal(second.Certificate[0], first.Certificate[0]))
	assert.DeepEqual(t, told, []string{"renewed"})

	s.holds(oldCert, newKey)
	for range 3 {
		now = now.Add(time.Minute)
		assert.Equal(t, c.at(now), second)
	}
	assert.Equal(t, len(told), 2, "%v", told)
	assert.Assert(t, strings.Contains(told[1], "tls.crt") && strings.Contains(told[1], "private key does not match"), told[1])

	assert.NilError(t, os.Remove(s.file("..data")))
	for range 3 {
		now = now.Add(time.Minute)
		assert.Equal(t, c.at(now), second)
	}
	assert.Equal(t, len(told), 3, "%v", told)
	assert.Assert(t, strings.Contains(told[2], "no such file"), told[2])

	s.holds(newCert, newKey)
	assert.Equal(t, c.at(now.Add(time.Hour)), second)
	assert.Equal(t, len(told), 3, "what is served came back, which changes nothing")
}

// TestServerServesTheRenewedCertificate: the server does so for handshakes, and logs it.
func TestServerServesTheRenewedCertificate(t *testing.T) {
	cert, key, _ := certificate(t)
	other, otherKey, _ := certificate(t)
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		s, err := NewServer(ServerConfig{CertFile: cert, KeyFile: key, Log: log.New(&said, "", 0)}, newWorld(t).service(t))
		assert.NilError(t, err)
		config, err := s.tls()
		assert.NilError(t, err)
		first, err := config.GetCertificate(nil)
		assert.NilError(t, err)
		look := func() bool {
			t.Helper()
			time.Sleep(lookPause)
			now, err := config.GetCertificate(nil)
			assert.NilError(t, err)
			return now == first
		}
		assert.NilError(t, os.Rename(other, cert))
		assert.Assert(t, look())
		assert.NilError(t, os.Rename(otherKey, key))
		assert.Assert(t, !look())
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		assert.Equal(t, len(lines), 2, "%v", lines)
		assert.Assert(t, strings.HasPrefix(lines[0], "webservice: the new certificate is wrong, that before is served: "+cert), lines[0])
		assert.Equal(t, lines[1], "webservice: a new certificate is served")
	})
}
