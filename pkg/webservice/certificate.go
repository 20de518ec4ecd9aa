package webservice

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookPause is how long a certificate is served until its files are looked at again.
const lookPause = time.Second

// A Certificate is the certificate of a server with its key, in two files. What is renewed there is served for new
// connections, from a second after the last look on. Files that are wrong leave the one before in use. Its methods may be
// called from many goroutines.
type Certificate struct {
	certFile, keyFile string
	tell              func(error)

	mu        sync.Mutex
	served    *tls.Certificate // never nil
	looked    time.Time
	cert, key []byte // the files that it is from
	problem   string // why what they had at the last look is not served; empty: it is
}

// ReadCertificate reads a certificate and its key, in PEM. The error says what is wrong with them now. What becomes of the
// files later is handed to tell, which must not block: nil once for each certificate that is served from then on, and else why
// that before stays in use, once while the reason is the same.
func ReadCertificate(certFile, keyFile string, tell func(error)) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, tell: tell, looked: time.Now()}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// Config is that of a listener which serves the certificate, from TLS 1.2 on. Protocols are in order of preference, such
// as "http/1.1".
func (c *Certificate) Config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.at(time.Now()), nil },
	}
}

// at is the certificate to serve at a moment.
func (c *Certificate) at(now time.Time) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.looked) < lookPause {
		return c.served
	}
	c.looked = now
	before, problem := c.served, c.problem
	err := c.read()
	switch {
	case err != nil && c.problem != problem:
		c.tell(err)
	case c.served != before:
		c.tell(nil)
	}
	return c.served
}

// read looks at the files, and takes over what is new there. Contents are compared, not times: a Secret that is mounted is
// renewed by another target of a symbolic link.
func (c *Certificate) read() (err error) {
	defer func() {
		c.problem = ""
		if err != nil {
			c.problem = err.Error()
		}
	}()
	cert, err := os.ReadFile(c.certFile)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return err
	}
	if c.served != nil && bytes.Equal(cert, c.cert) && bytes.Equal(key, c.key) {
		return nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%s with the key in %s: %w", c.certFile, c.keyFile, err)
	}
	c.served, c.cert, c.key = &pair, cert, key
	return nil
}
