package webservice

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// offered is what a server with a configuration offers at its first address.
func offered(t *testing.T, config ServerConfig) http.Handler {
	t.Helper()
	s, err := NewServer(config, crowded(t))
	assert.NilError(t, err)
	return s.Handler()
}

// send sends a request to a host; headers come in pairs.
func send(h http.Handler, method, host, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader("{}"))
	r.Host = host
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const clusters = "/ws/v1/clusters"

// TestOtherOrigins: pages of no other origin may read or send anything unless it is
// allowed; those of the scheduler itself and programs may.
func TestOtherOrigins(t *testing.T) {
	own, listed, all := offered(t, ServerConfig{}), offered(t, ServerConfig{AllowedOrigins: []string{"https://ops.example"}}),
		offered(t, ServerConfig{AllowedOrigins: []string{"*"}})
	for _, c := range []struct {
		h       http.Handler
		origin  string
		allowed string
		post    int
	}{
		{own, "", "", 200},
		{own, "http://localhost:9080", "", 200},
		{own, "https://evil.example", "", 403},
		{own, "null", "", 403},
		{listed, "https://evil.example", "", 403},
		{listed, "http://ops.example", "", 403},
		{listed, "https://ops.example", "https://ops.example", 200},
		{all, "https://evil.example", "*", 200},
	} {
		headers := []string{}
		if c.origin != "" {
			headers = []string{"Origin", c.origin}
		}
		name := fmt.Sprintf("%s %s", c.origin, c.allowed)
		w := send(c.h, http.MethodGet, "localhost:9080", clusters, headers...)
		assert.Equal(t, w.Code, http.StatusOK)
		assert.Equal(t, w.Header().Get("Access-Control-Allow-Origin"), c.allowed, name)
		for _, path := range []string{whatIfPath, "/ws/v1/validate-conf"} {
			w = send(c.h, http.MethodPost, "localhost:9080", path, headers...)
			assert.Equal(t, w.Code, c.post, name)
		}
		w = send(c.h, http.MethodOptions, "localhost:9080", whatIfPath, append(headers,
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")...)
		assert.Equal(t, w.Header().Get("Access-Control-Allow-Origin"), c.allowed, name)
		assert.Equal(t, w.Header().Get("Access-Control-Allow-Headers") != "", c.allowed != "", name)
		assert.Assert(t, w.Code < 300)
	}
	w := send(own, http.MethodPost, "localhost:9080", whatIfPath, "Sec-Fetch-Site", "cross-site")
	assert.Equal(t, w.Code, http.StatusForbidden)
	assert.Assert(t, strings.Contains(w.Body.String(), "Pages of another origin may not send this"))
	// A proxy that gives the server another name does not make the dashboard a stranger.
	w = send(own, http.MethodPost, "127.0.0.1:9080", whatIfPath, "Origin", "https://scheduler.example", "Sec-Fetch-Site", "same-origin")
	assert.Equal(t, w.Code, http.StatusOK)
}

// TestAllowedOriginsNeedTheToken: what a browser asks before it sends the token is
// answered, and a refusal can be read by the page.
func TestAllowedOriginsNeedTheToken(t *testing.T) {
	h := offered(t, ServerConfig{Token: "secret", AllowedOrigins: []string{"https://ops.example"}})
	w := send(h, http.MethodOptions, "s.example", clusters, "Origin", "https://ops.example",
		"Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "authorization")
	assert.Assert(t, w.Code < 300)
	assert.Equal(t, w.Header().Get("Access-Control-Allow-Headers"), "authorization")
	w = send(h, http.MethodGet, "s.example", clusters, "Origin", "https://ops.example")
	assert.Equal(t, w.Code, http.StatusUnauthorized)
	assert.Equal(t, w.Header().Get("Access-Control-Allow-Origin"), "https://ops.example")
	w = send(h, http.MethodGet, "s.example", clusters, "Origin", "https://ops.example", "Authorization", "Bearer secret")
	assert.Equal(t, w.Code, http.StatusOK)
}

// TestOtherNames: a name that another site gave this address is refused, on every path.
// It is not looked at where a token is needed, which no page under that name has.
func TestOtherNames(t *testing.T) {
	for _, c := range []struct {
		config ServerConfig
		host   string
		status int
	}{
		{ServerConfig{}, "rebound.evil.example", 421},
		{ServerConfig{}, "rebound.evil.example:9080", 421},
		{ServerConfig{}, "localhost.evil.example", 421},
		{ServerConfig{}, "127.0.0.1.evil.example", 421},
		{ServerConfig{}, "127.0.0.1:9080", 200},
		{ServerConfig{}, "[::1]:9080", 200},
		{ServerConfig{}, "[fe80::1%25eth0]", 200},
		{ServerConfig{}, "10.1.2.3", 200},
		{ServerConfig{}, "LOCALHOST:80", 200},
		{ServerConfig{}, "dash.localhost.", 200},
		{ServerConfig{}, "", 200},
		{ServerConfig{Address: "sched.example:9080"}, "sched.example:80", 200},
		{ServerConfig{AllowedHosts: []string{"Sched.example"}}, "sched.EXAMPLE.:9080", 200},
		{ServerConfig{AllowedHosts: []string{"sched.example"}}, "x.sched.example", 421},
		{ServerConfig{AllowedHosts: []string{"*"}}, "rebound.evil.example", 200},
		{ServerConfig{Token: "secret"}, "rebound.evil.example", 200},
	} {
		h := offered(t, c.config)
		for _, path := range []string{clusters, "/ws/v1/scheduler/healthcheck"} {
			w := send(h, http.MethodGet, c.host, path, "Authorization", "Bearer secret")
			assert.Equal(t, w.Code, c.status, c.host)
			if c.status == 421 {
				assert.Assert(t, strings.Contains(w.Body.String(), "This scheduler is not known as"), w.Body)
			}
		}
	}
}

// TestProbeAddress has health and metrics for those without the token, and nothing
// else.
func TestProbeAddress(t *testing.T) {
	s := serving(t, ServerConfig{Address: "127.0.0.1:0", DebugAddress: "localhost:0", ProbeAddress: "[::1]:0", Token: "secret"}, withPage(t))
	assert.Equal(t, len(s.Addresses()), 3)
	for path, want := range map[string]int{
		"/ws/v1/scheduler/healthcheck": 200, "/ws/v1/metrics": 200,
		clusters: 404, "/": 404, "/debug/stack": 404, "/ws/v1/openapi.yaml": 404,
	} {
		response, _ := fetch(t, http.MethodGet, "http://"+s.Addresses()[2]+path, "", nil)
		assert.Equal(t, response.StatusCode, want, path)
		if path != "/" {
			response, _ = fetch(t, http.MethodGet, "http://"+s.Addresses()[0]+path, "", nil)
			assert.Equal(t, response.StatusCode != http.StatusUnauthorized, path == "/debug/stack", path) // the page answers that
		}
	}
}

// TestWarning is given where everything can be read from elsewhere without a token.
func TestWarning(t *testing.T) {
	for _, c := range []struct {
		config ServerConfig
		warned int
	}{
		{ServerConfig{Address: "127.0.0.1:0"}, 0},
		{ServerConfig{Address: "localhost:0", DebugAddress: "[::1]:0"}, 0},
		{ServerConfig{Address: "127.0.0.1:0", ProbeAddress: ":0"}, 0},
		{ServerConfig{Address: ":0", Token: "secret"}, 0},
		{ServerConfig{Address: ":0"}, 1},
		{ServerConfig{Address: "127.0.0.1:0", DebugAddress: "0.0.0.0:0"}, 1},
		{ServerConfig{Address: ":0", DebugAddress: "0.0.0.0:0"}, 2},
	} {
		var said bytes.Buffer
		c.config.Log = log.New(&said, "", 0)
		serving(t, c.config, newWorld(t).service(t))
		assert.Equal(t, strings.Count(said.String(), "can be reached from other machines, and no token is needed"), c.warned, "%+v", c.config)
	}
}

func TestOriginsAndHostsOfTheConfiguration(t *testing.T) {
	good := ServerConfig{AllowedOrigins: []string{"*", "https://a.example", "http://[::1]:80"}, AllowedHosts: []string{"*", "a.example"}, ProbeAddress: ":9081"}
	assert.NilError(t, good.Validate())
	for _, c := range []struct {
		config ServerConfig
		want   string
	}{
		{ServerConfig{AllowedOrigins: []string{"a.example"}}, `AllowedOrigins: "a.example" is no origin such as https://example.com`},
		{ServerConfig{AllowedOrigins: []string{"https://a.example/"}}, `is no origin`},
		{ServerConfig{AllowedOrigins: []string{"https://*.example", ""}}, `"" is no origin`},
		{ServerConfig{AllowedHosts: []string{"a.example:80"}}, `AllowedHosts: "a.example:80" is no name of a host, without a port`},
		{ServerConfig{Address: ":1", ProbeAddress: ":1"}, "ProbeAddress :1 is another one already"},
		{ServerConfig{ProbeAddress: "here"}, "ProbeAddress: address here: missing port"},
	} {
		assert.ErrorContains(t, c.config.Validate(), c.want)
	}
}

// TestClients are told apart behind a proxy that is trusted, and cannot say themselves
// which they are.
func TestClients(t *testing.T) {
	for _, c := range []struct {
		trusted      []netip.Prefix
		remote, said string
		want         string
	}{
		{nil, "10.0.0.9:5", "", "10.0.0.9"},
		{nil, "10.0.0.9:5", "192.0.2.1", "10.0.0.9"}, // which says that of itself
		{nil, "127.0.0.1:5", "", "127.0.0.1"},
		{nil, "127.0.0.1:5", "192.0.2.1", "192.0.2.1"},
		{nil, "[::1]:5", "192.0.2.7, 192.0.2.1", "192.0.2.1"}, // the one before is what that client says
		{nil, "127.0.0.1:5", "192.0.2.1:77, 127.0.0.1", "192.0.2.1"},
		{nil, "127.0.0.1:5", "unknown", "127.0.0.1"},
		{nil, "127.0.0.1:5", "[2001:db8::1]:80", "2001:db8::1"},
		{nil, "[::ffff:10.0.0.9]:5", "192.0.2.1", "10.0.0.9"},
		{[]netip.Prefix{}, "127.0.0.1:5", "192.0.2.1", "127.0.0.1"},
		{[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}, "10.0.0.9:5", "192.0.2.1, 10.0.0.8", "192.0.2.1"},
		{nil, "@", "192.0.2.1", "@"}, // no address, as of a socket
	} {
		s := newWorld(t).service(t)
		s.config.TrustedProxies = c.trusted
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		if c.said != "" {
			r.Header.Set("X-Forwarded-For", c.said)
		}
		assert.Equal(t, s.config.clientOf(r), c.want, "%s says %s", c.remote, c.said)
	}
}

// TestStreamsBehindAProxy: each of the people behind it has streams of their own.
func TestStreamsBehindAProxy(t *testing.T) {
	s := newWorld(t).service(t) // one stream for each client
	for i := range 3 {
		held, err := s.config.Events.Subscribe(start, fmt.Sprintf("192.0.2.%d", i), 0)
		assert.NilError(t, err)
		defer held.Close()
	}
	stream := func(person int) int {
		r := httptest.NewRequest(http.MethodGet, "/ws/v1/events/stream", nil)
		r.RemoteAddr = "127.0.0.1:1234"
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("192.0.2.%d", person))
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the stream begins and ends
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r.WithContext(ctx))
		return w.Code
	}
	assert.Equal(t, stream(7), http.StatusOK)
	assert.Equal(t, stream(8), http.StatusOK)
	assert.Equal(t, stream(2), http.StatusServiceUnavailable) // which has one
}
