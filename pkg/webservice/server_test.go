package webservice

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// serving is a server that runs until the test ends.
func serving(t *testing.T, config ServerConfig, service *Service) *Server {
	t.Helper()
	s, err := NewServer(config, service)
	assert.NilError(t, err)
	assert.NilError(t, s.Start())
	t.Cleanup(func() { assert.NilError(t, s.Stop(context.Background())) })
	return s
}

// fetch sends a request on a connection of its own.
func fetch(t *testing.T, method, url, authorization string, roots *x509.CertPool) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	assert.NilError(t, err)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
	response, err := client.Do(r)
	assert.NilError(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	return response, string(content)
}

func TestToken(t *testing.T) {
	s := serving(t, ServerConfig{Address: "127.0.0.1:0", DebugAddress: "127.0.0.1:0", Token: "secret"}, newWorld(t).service(t))
	url := "http://" + s.Addresses()[0] + "/ws/v1/clusters"
	for authorization, status := range map[string]int{
		"": 401, "Bearer": 401, "Bearer ": 401, "Bearer wrong": 401, "secret": 401, "Basic secret": 401, "Bearer secretly": 401,
		"Bearer secret": 200, "bearer  secret": 200,
	} {
		response, content := fetch(t, "GET", url, authorization, nil)
		assert.Equal(t, response.StatusCode, status, authorization)
		if status == 401 {
			assert.Equal(t, response.Header.Get("WWW-Authenticate"), "Bearer")
			assert.Equal(t, content, `{"status_code":401,"message":"A valid token is needed","description":"A valid token is needed"}`)
		}
	}
	response, _ := fetch(t, "GET", "http://"+s.Addresses()[0]+"/ws/v1/nothing", "", nil)
	assert.Equal(t, response.StatusCode, 401) // what is there is not told
	response, _ = fetch(t, "OPTIONS", url, "", nil)
	assert.Equal(t, response.StatusCode, 200)
}

// TestAdmit: what the configuration asks decides by token and request. A proxy may keep Authorization
// for itself, so another header counts before it.
func TestAdmit(t *testing.T) {
	admit := func(r *http.Request, token string) error {
		switch {
		case token == "broken":
			return errors.New("nobody could tell")
		case token != "ann":
			return failure.New(failure.ErrUnauthorized, "Who is that?")
		case r.URL.Path != "/ws/v1/clusters":
			return failure.New(failure.ErrForbidden, "Not for ann")
		}
		return nil
	}
	s := serving(t, ServerConfig{Address: "127.0.0.1:0", ProbeAddress: "localhost:0", Admit: admit}, newWorld(t).service(t))
	for _, c := range []struct {
		path, authorization, proxied string
		status                       int
	}{
		{"/ws/v1/clusters", "", "", 401},
		{"/ws/v1/clusters", "Bearer bob", "", 401},
		{"/ws/v1/clusters", "Bearer ann", "", 200},
		{"/ws/v1/partitions", "Bearer ann", "", 403},
		{"/ws/v1/clusters", "Bearer broken", "", 500},
		{"/ws/v1/clusters", "", "Bearer ann", 200},
		{"/ws/v1/clusters", "Bearer ann", "Bearer bob", 401},
	} {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+s.Addresses()[0]+c.path, nil)
		assert.NilError(t, err)
		r.Header.Set("Authorization", c.authorization)
		r.Header.Set(client.TokenHeader, c.proxied)
		response, err := http.DefaultClient.Do(r)
		assert.NilError(t, err)
		assert.NilError(t, response.Body.Close())
		assert.Equal(t, response.StatusCode, c.status, "%v", c)
		assert.Equal(t, response.Header.Get("WWW-Authenticate") != "", c.status == 401)
	}
	response, _ := fetch(t, "GET", "http://"+s.Addresses()[1]+"/ws/v1/metrics", "", nil)
	assert.Equal(t, response.StatusCode, 200)
}

// TestDebugAddress offers what is for debugging at its own address, at the same
// one, or not at all.
func TestDebugAddress(t *testing.T) {
	service := newWorld(t).service(t)
	status := func(address, path string) int {
		response, _ := fetch(t, "GET", "http://"+address+path, "", nil)
		return response.StatusCode
	}
	off := serving(t, ServerConfig{Address: "127.0.0.1:0"}, service)
	assert.Equal(t, len(off.Addresses()), 1)
	assert.Equal(t, status(off.Addresses()[0], "/debug/stack"), 404)
	for _, path := range []string{"/ws/v1/stack", "/ws/v1/fullstatedump"} {
		response, content := fetch(t, "GET", "http://"+off.Addresses()[0]+path, "", nil)
		assert.Equal(t, response.StatusCode, 404)
		assert.Equal(t, response.Request.URL.Path, path) // nothing led elsewhere
		assert.Equal(t, content, `{"status_code":404,"message":"Debugging is not offered at this address","description":"Debugging is not offered at this address"}`)
	}

	own := serving(t, ServerConfig{Address: "localhost:0", DebugAddress: "127.0.0.1:0"}, service)
	rest, debug := own.Addresses()[0], own.Addresses()[1]
	assert.Equal(t, status(rest, "/debug/stack"), 404)
	assert.Equal(t, status(debug, "/debug/stack"), 200)
	assert.Equal(t, status(debug, "/ws/v1/clusters"), 404)
	assert.Equal(t, status(debug, "/debug/pprof/goroutine?debug=1"), 200)

	same := serving(t, ServerConfig{Address: "127.0.0.1:0", DebugAddress: "127.0.0.1:0"}, service)
	assert.Equal(t, len(same.Addresses()), 1)
	assert.Equal(t, status(same.Addresses()[0], "/debug/stack"), 200)
	assert.Equal(t, status(same.Addresses()[0], "/ws/v1/fullstatedump"), 200)
}

func TestTLS(t *testing.T) {
	cert, key, roots := certificate(t)
	s := serving(t, ServerConfig{Address: "127.0.0.1:0", CertFile: cert, KeyFile: key}, newWorld(t).service(t))
	response, _ := fetch(t, "GET", "https://"+s.Addresses()[0]+"/ws/v1/clusters", "", roots)
	assert.Equal(t, response.StatusCode, 200)
	response, _ = fetch(t, "GET", "http://"+s.Addresses()[0]+"/ws/v1/clusters", "", nil)
	assert.Equal(t, response.StatusCode, 400)

	broken, err := NewServer(ServerConfig{Address: "127.0.0.1:0", CertFile: cert, KeyFile: cert}, newWorld(t).service(t))
	assert.NilError(t, err)
	assert.ErrorContains(t, broken.Start(), "webservice: certificate")
	assert.NilError(t, broken.Stop(t.Context()))
}

// certificate makes one for 127.0.0.1 that lasts an hour.
func certificate(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	assert.NilError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	assert.NilError(t, err)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	assert.NilError(t, os.WriteFile(certFile, public, 0o600))
	assert.NilError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	roots = x509.NewCertPool()
	assert.Assert(t, roots.AppendCertsFromPEM(public))
	return certFile, keyFile, roots
}

// slow is a world whose views come when the test wants.
type slow struct {
	*world
	asked, answer chan struct{}
}

func (s *slow) Snapshot(ctx context.Context, name string) (Snapshot, error) {
	close(s.asked)
	<-s.answer
	return s.world.Snapshot(ctx, name)
}

// TestStop lets a request end that is under way, and cuts it off when the time for
// that is over.
func TestStop(t *testing.T) {
	for _, patient := range []bool{true, false} {
		w := newWorld(t)
		views := &slow{w, make(chan struct{}), make(chan struct{})}
		service, err := New(Config{Views: views, Kinds: w.Kinds})
		assert.NilError(t, err)
		s, err := NewServer(ServerConfig{Address: "127.0.0.1:0"}, service)
		assert.NilError(t, err)
		assert.NilError(t, s.Start())
		got := make(chan error, 1)
		go func() {
			response, err := http.Get("http://" + s.Addresses()[0] + "/ws/v1/partition/default/nodes")
			if err == nil {
				_, err = io.ReadAll(response.Body)
				response.Body.Close()
			}
			got <- err
		}()
		<-views.asked
		ctx, cancel := context.WithCancel(t.Context())
		if patient {
			stopped := make(chan error, 1)
			go func() { stopped <- s.Stop(ctx) }()
			close(views.answer)
			assert.NilError(t, <-stopped)
			assert.NilError(t, <-got)
		} else {
			cancel()
			assert.ErrorIs(t, s.Stop(ctx), context.Canceled)
			assert.Assert(t, <-got != nil)
			close(views.answer)
		}
		cancel()
		_, err = net.Dial("tcp", s.Addresses()[0])
		assert.Assert(t, err != nil)
	}
}

func TestServerConfig(t *testing.T) {
	_, err := NewServer(ServerConfig{Admit: func(*http.Request, string) error { return nil }, Address: "nowhere", DebugAddress: "x:y:z", CertFile: "a", Token: "a b"}, nil)
	for _, text := range []string{"Address: address nowhere: missing port", "DebugAddress: ", "CertFile and KeyFile", "white space", "Token and Admit"} {
		assert.ErrorContains(t, err, text)
	}
	s, err := NewServer(ServerConfig{}, nil)
	assert.NilError(t, err)
	assert.Equal(t, s.config.Address, "127.0.0.1:9080")

	taken := serving(t, ServerConfig{Address: "127.0.0.1:0"}, newWorld(t).service(t))
	second, err := NewServer(ServerConfig{Address: "127.0.0.1:0", DebugAddress: taken.Addresses()[0]}, newWorld(t).service(t))
	assert.NilError(t, err)
	assert.ErrorContains(t, second.Start(), "address already in use")
	assert.Equal(t, len(second.Addresses()), 0)
	assert.NilError(t, taken.Stop(t.Context()))
	assert.NilError(t, second.Start(), "the address is free")
	assert.Error(t, second.Start(), "webservice: the server was started already; another one is needed")
	response, _ := fetch(t, http.MethodGet, "http://"+second.Addresses()[0]+"/ws/v1/clusters", "", nil)
	assert.Equal(t, response.StatusCode, http.StatusOK, "the first start stands")
	assert.NilError(t, second.Stop(t.Context()))
	assert.ErrorContains(t, second.Start(), "started already")
}
