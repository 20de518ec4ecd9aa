package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/live"
)

// TestServeLines runs the command lines that end by themselves.
func TestServeLines(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer func() { _ = taken.Close() }()
	playLine(t, "serve-help", "serve --help", "")
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"serve large", `there is no example "large" (there are daemonsets, fairness, small, teams), and no file: open large: `, exitUsage},
		{"serve testdata/good.yaml", "testdata/good.yaml:", exitFailed},
		{"serve --speed 0", "a speed of 0 is not from 0.01 to 10000", exitUsage},
		{"serve --speed NaN", "a speed of NaN is not from 0.01 to 10000", exitUsage},
		{"serve --speed fast", `--speed "fast" is not a number`, exitUsage},
		{"serve --listen here", "address here: missing port", exitUsage},
		{"serve --listen " + taken.Addr().String(), "address already in use", exitFailed},
		{"serve --listen 127.0.0.1:0 --debug-listen " + taken.Addr().String(), "address already in use", exitFailed},
		{"serve small --tls-cert cert.pem", "[tls-key]", exitUsage},
		{"serve small --listen 127.0.0.1:0 --tls-cert none.pem --tls-key none.pem", "webservice: certificate: open none.pem", exitUsage},
		{"serve small --token-file none", "token: open none", exitUsage},
		{"serve small --token-file " + os.DevNull, "token: " + os.DevNull + " is empty", exitUsage},
		{"serve small --listen 127.0.0.1:0 --allow-origin example.com", `AllowedOrigins: "example.com" is no origin`, exitUsage},
		{"serve small --listen 127.0.0.1:0 --host example.com:80", `AllowedHosts: "example.com:80" is no name`, exitUsage},
		{"serve small --listen 127.0.0.1:0 --trusted-proxy proxy", `trusted-proxy: "proxy" is no address and no network`, exitUsage},
		{"serve small --log-level loud", `log-level: unrecognized level: "loud"`, exitUsage},
		{"serve small --ended-max -1", "EndedMax is negative", exitUsage},
		{"serve small --rejected-max -1", "RejectedMax is negative", exitUsage},
		{"serve small --keep -1s", "Keep is negative", exitUsage},
		{"serve small --history -1s", "History is negative", exitUsage},
		{"serve small --unused-delay long", `--unused-delay "long" is not a length of time`, exitUsage},
		{"serve small fairness", "accepts at most 1 arg", exitUsage},
	} {
		var out, problems bytes.Buffer
		assert.Equal(t, run(strings.Fields(c.line), nil, &out, &problems), c.code, c.line)
		assert.Assert(t, strings.Contains(problems.String(), c.want), "%s: %s", c.line, problems.String())
		assert.Equal(t, out.String(), "", c.line)
	}
}

// leastLogged is what is logged if nothing else is asked for.
var leastLogged = must(zapcore.ParseLevel(newServeCommand().Flag("log-level").DefValue))

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// playing runs a server until its scenario is over. It returns what it printed first, and
// a function that interrupts it and checks that nothing was logged below the address,
// and that the server does not listen any more.
func playing(t *testing.T, s *serving) (seen string, interrupt func()) {
	t.Helper()
	over, failed := make(chan struct{}), make(chan string, 100)
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.InfoLevel),
		zap.Hooks(func(e zapcore.Entry) error {
			switch {
			case e.Message == "scenario is over":
				close(over)
			case e.Level >= leastLogged:
				failed <- e.Message
			}
			return nil
		}))
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx, &out, log, zap.NewAtomicLevel()) }()
	select {
	case <-over:
	case err := <-ended:
		t.Fatalf("it ended: %v", err)
	}
	return out.String(), func() {
		cancel()
		assert.NilError(t, <-ended)
		assert.Equal(t, len(failed), 0)
		address, _, _ := strings.Cut(out.String()[strings.Index(out.String(), "://")+3:], "/")
		_, err := net.Dial("tcp", address)
		assert.Assert(t, err != nil, "the server still listens")
	}
}

// TestServe plays the small example in a fraction of a second, asks what there is
// in the end, and interrupts it.
func TestServe(t *testing.T) {
	seen, interrupt := playing(t, &serving{
		scenario: "small", listen: "127.0.0.1:0", debugListen: "127.0.0.1:0", speed: live.SpeedMax,
	})
	lines := strings.Split(strings.TrimSuffix(seen, "\n"), "\n")
	assert.Equal(t, lines[0], "small, 4 nodes, runs at 10000 times real time; Ctrl-C ends it")
	assert.Assert(t, regexp.MustCompile(`^http://127\.0\.0\.1:[0-9]+/$`).MatchString(lines[len(lines)-1]), "the address is not alone on the last line: %s", seen)
	addresses := regexp.MustCompile(`http://[^/]*`).FindAllString(seen, -1)
	assert.Equal(t, len(addresses), 4)
	rest, debug := addresses[0]+"/ws/v1", addresses[2]
	assert.Assert(t, strings.Contains(read(t, addresses[0]+"/"), "<title>Narwhal</title>"))

	var partitions []struct {
		Name       string
		TotalNodes int
	}
	assert.NilError(t, json.Unmarshal([]byte(read(t, rest+"/partitions")), &partitions))
	assert.Equal(t, len(partitions), 1)
	assert.Equal(t, partitions[0].TotalNodes, 4)
	afterEvents(t, rest, func() bool { return onlyLogsRun(t, rest) })
	assert.Assert(t, strings.Contains(read(t, rest+"/metrics"), `narwhal_stage_seconds_count{stage="decision"}`))
	assert.Assert(t, strings.Contains(read(t, rest+"/config"), "root"))
	assert.Assert(t, strings.Contains(read(t, rest+"/events/batch"), `"objectID":"worker-2"`))
	assert.Assert(t, strings.Contains(read(t, rest+"/scheduler/healthcheck"), `"Healthy":true`))
	assert.Assert(t, strings.Contains(read(t, debug+"/debug/stack"), "goroutine"))
	interrupt()
}

// TestServeKeeps shows as many applications after their end as the flag says. More than two of the
// small example end.
func TestServeKeeps(t *testing.T) {
	for _, most := range []int{1, 2, 1000} {
		seen, interrupt := playing(t, &serving{
			scenario: "small", listen: "127.0.0.1:0", speed: live.SpeedMax, kept: archive.Config{EndedMax: most},
		})
		rest := regexp.MustCompile(`http://[^/]*`).FindString(seen) + "/ws/v1"
		afterEvents(t, rest, func() bool {
			var ended []struct{ ApplicationID string }
			assert.NilError(t, json.Unmarshal([]byte(read(t, rest+"/partition/default/applications/completed")), &ended))
			assert.Assert(t, len(ended) <= most, "%v", ended)
			return len(ended) == most || len(ended) > 2
		})
		interrupt()
	}
}

// onlyLogsRun reports whether the daemonset runs on each node, and nothing else does.
func onlyLogsRun(t *testing.T, rest string) bool {
	t.Helper()
	var nodes []struct {
		NodeID      string
		Allocations []struct{ ApplicationID string }
	}
	assert.NilError(t, json.Unmarshal([]byte(read(t, rest+"/partition/default/nodes")), &nodes))
	assert.Equal(t, len(nodes), 4)
	for _, n := range nodes {
		if len(n.Allocations) != 1 || n.Allocations[0].ApplicationID != "logs" {
			return false
		}
	}
	return true
}

// afterEvents returns when something is so. It looks at first, and again after each event. At
// this speed the scenario counts as over when the scheduler has not answered for 30 ms, so
// on a busy machine it may still be at work.
func afterEvents(t *testing.T, rest string, is func() bool) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rest+"/events/stream", nil)
	assert.NilError(t, err)
	stream, err := http.DefaultClient.Do(request)
	assert.NilError(t, err)
	defer func() { _ = stream.Body.Close() }() // nothing was written
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() { // the first line is about the stream itself
		if is() {
			return
		}
	}
	t.Fatalf("the stream of events ended: %v", lines.Err())
}

// TestServeGuarded answers clients that trust the certificate and have the token of the
// file.
func TestServeGuarded(t *testing.T) {
	model := httptest.NewTLSServer(http.NotFoundHandler()) // has a certificate, and a client that trusts it
	defer model.Close()
	pair := model.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	assert.NilError(t, err)
	dir := fs.NewDir(t, "guarded",
		fs.WithFile("cert", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}))),
		fs.WithFile("key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))),
		fs.WithFile("token", "open-sesame\n"))
	seen, interrupt := playing(t, &serving{
		scenario: "small", listen: "127.0.0.1:0", probeListen: "localhost:0", speed: live.SpeedMax,
		proxies: []string{"10.0.0.0/8", "192.0.2.1"}, cert: dir.Join("cert"), key: dir.Join("key"), token: dir.Join("token"),
	})
	addresses := regexp.MustCompile(`https://[^/]*`).FindAllString(seen, -1)
	address := addresses[0]
	// The certificate is for an address, not for localhost.
	probe := strings.Replace(addresses[2], "localhost", "127.0.0.1", 1)
	answer, err := model.Client().Get(probe + "/ws/v1/scheduler/healthcheck")
	assert.NilError(t, err)
	assert.NilError(t, answer.Body.Close())
	assert.Equal(t, answer.StatusCode, http.StatusOK, seen)
	for token, want := range map[string]int{"open-sesame": http.StatusOK, "guess": http.StatusUnauthorized} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/ws/v1/partitions", nil)
		assert.NilError(t, err)
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := model.Client().Do(request)
		assert.NilError(t, err)
		assert.NilError(t, answer.Body.Close())
		assert.Equal(t, answer.StatusCode, want, token)
	}
	interrupt()
}

// read is the text behind an address, which may be compressed once.
func read(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	assert.NilError(t, err)
	request.Header.Set("Accept-Encoding", "gzip")
	answer, err := http.DefaultClient.Do(request)
	assert.NilError(t, err)
	defer func() { _ = answer.Body.Close() }() // nothing was written
	var body io.Reader = answer.Body
	if answer.Header.Get("Content-Encoding") == "gzip" {
		body, err = gzip.NewReader(body)
		assert.NilError(t, err)
	}
	text, err := io.ReadAll(body)
	assert.NilError(t, err)
	assert.Equal(t, answer.StatusCode, http.StatusOK, "%s: %s", address, text)
	return string(text)
}
