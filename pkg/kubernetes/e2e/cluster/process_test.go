package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// script starts a program of the shell.
func script(t *testing.T, text string) *Process {
	t.Helper()
	p, err := launch(t.TempDir(), "script", exec.Command("/bin/sh", "-c", text))
	assert.NilError(t, err)
	t.Cleanup(p.Kill)
	return p
}

func TestKillEndsAProcessThatIsPaused(t *testing.T) {
	p := script(t, "sleep 1000")
	_, err := p.Processor()
	assert.NilError(t, err)
	p.Pause()
	p.Kill()
	p.Continue() // too late, and no harm
	<-p.Ended()
	assert.ErrorContains(t, p.err, "killed")
	_, err = p.Processor()
	assert.ErrorContains(t, err, "processor time of script: ")
}

func TestTerminateWaitsForTheEnd(t *testing.T) {
	p := script(t, "exec sleep 1000")
	assert.ErrorContains(t, p.Terminate(), "script: signal: terminated")
}

func TestLogIsKeptOverRestarts(t *testing.T) {
	folder := t.TempDir()
	for _, word := range []string{"one", "two", "three"} {
		p, err := launch(folder, "script", exec.Command("/bin/sh", "-c", "echo "+word))
		assert.NilError(t, err)
		<-p.Ended()
		assert.NilError(t, p.err)
		assert.Assert(t, strings.HasSuffix(p.Log(2), word))
		if word == "three" {
			assert.Equal(t, p.Log(2), "two\nthree")
			assert.Equal(t, p.Log(100), "one\ntwo\nthree")
		}
	}
}

func TestProgramThatIsNotThere(t *testing.T) {
	_, err := launch(t.TempDir(), "nothing", exec.Command("/no/such/program"))
	assert.ErrorContains(t, err, "starting nothing: ")
}

// TestAwaitReadySaysWhyNot: the process ends before it answers.
func TestAwaitReadySaysWhyNot(t *testing.T) {
	authority, err := newAuthority()
	assert.NilError(t, err)
	c := &Cluster{Authority: authority}
	p := script(t, "echo no disk; exit 1")
	err = c.awaitReady(t.Context(), p, "https://127.0.0.1:1/readyz")
	assert.Error(t, err, "script has ended before it was ready, its log ends:\nno disk")
}

// TestIssuedCertificatesAreTrusted by clients that have the bundle, and by no others.
func TestIssuedCertificatesAreTrusted(t *testing.T) {
	authority, err := newAuthority()
	assert.NilError(t, err)
	certificate, err := authority.Issue("webhook.default.svc")
	assert.NilError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)

	roots := x509.NewCertPool()
	assert.Assert(t, roots.AppendCertsFromPEM(authority.Bundle()))
	for _, name := range []string{"", "webhook.default.svc", "localhost"} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: name}}}
		response, err := client.Get(server.URL)
		assert.NilError(t, err)
		response.Body.Close()
		client.CloseIdleConnections()
	}
	other, err := newAuthority()
	assert.NilError(t, err)
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(other.Bundle())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	_, err = client.Get(server.URL)
	assert.ErrorContains(t, err, "unknown authority")
}

// TestPortOfAnotherProgramIsTriedAgain, some times and not for ever.
func TestPortOfAnotherProgramIsTriedAgain(t *testing.T) {
	calls := 0
	err := onFreePort(func() error {
		calls++
		return io.ErrUnexpectedEOF
	})
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Equal(t, calls, 1)
	calls = 0
	err = onFreePort(func() error {
		calls++
		return syscall.EADDRINUSE
	})
	assert.ErrorIs(t, err, syscall.EADDRINUSE)
	assert.Equal(t, calls, portAttempts)
}
