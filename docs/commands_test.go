package docs_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// elsewhere are commands that tests of other modules run, which read the same pages, and those that no test can run.
var elsewhere = []struct{ begins, by string }{
	{"kubectl narwhal ", "pkg/kubernetes/cmd/kubectl-narwhal TestCommandsOfTheDocument"},
	{"narwhal-descheduler --policy-config-file ", "pkg/kubernetes/descheduler/command TestRecipes"},
	{"docker build ", "pkg/kubernetes/deploy TestCommandsOfTheDocuments"},
	{"helm install ", "pkg/kubernetes/deploy TestCommandsOfTheDocuments"},
	{"cd docs/deploy/", "pkg/kubernetes/deploy TestCommandsOfTheDocuments"},
	{"kubectl apply -f ", "pkg/kubernetes/deploy TestCommandsOfTheDocuments"},
	{"kubectl label namespace ", "pkg/kubernetes/deploy TestCommandsOfTheDocuments"},
	{"kubectl get --raw ", "pkg/kubernetes/deploy TestCommandsOfTheDocuments"},
	{"(cd pkg/kubernetes && go build -o ", "pkg/kubernetes/descheduler/command TestRecipes"},
	{"cd docs/examples/descheduler/recipes", "pkg/kubernetes/descheduler/command TestRecipes"},
	{"narwhal replay ", "cmd/narwhal TestReplayCommandsOfTheDocument"},
	{"go get github.com/narwhal-scheduler/narwhal", "docs/example TestModules"},
	{"go run github.com/narwhal-scheduler/narwhal/docs/example/manager", "docs/example TestCommandsOfEmbedding"},
	{"go build ./cmd/narwhal", "docs TestCommands"},
}

// A line is a command of a page.
type line struct{ page, command string }

var (
	fenced = regexp.MustCompile("(?ms)^```(\\S*)[^\n]*\n(.*?)^```$")
	inline = regexp.MustCompile("`((?:narwhal|kubectl narwhal|make|go test|curl) [^`]+)`")
)

// commands are the lines of blocks of kind sh, without their comments, and the commands within sentences.
func commands(t *testing.T) (found []line) {
	t.Helper()
	for _, pattern := range []string{"../README.md", "*.md", "internals/*.md"} {
		pages, err := filepath.Glob(pattern)
		assert.NilError(t, err)
		for _, page := range pages {
			text, err := os.ReadFile(page)
			assert.NilError(t, err)
			for _, block := range fenced.FindAllStringSubmatch(string(text), -1) {
				for command := range strings.Lines(block[2]) {
					command, _, _ = strings.Cut(strings.TrimSpace(command), "   ")
					command, _, _ = strings.Cut(command, " # ")
					is := inline.MatchString("`" + command + " `")
					assert.Assert(t, block[1] != "" || !is, "%s: a block with %q is of kind sh", page, command)
					if block[1] == "sh" && command != "" {
						found = append(found, line{page, strings.TrimSpace(command)})
					}
				}
			}
			for _, command := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
				found = append(found, line{page, command[1]})
			}
		}
	}
	return found
}

// TestCommands runs each command of each page, or knows which test does.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	s := newShell(t)
	ran := map[string]bool{}
	for _, l := range commands(t) {
		if ran[l.command] {
			continue
		}
		ran[l.command] = true
		t.Run(filepath.Base(l.page)+": "+l.command, func(t *testing.T) {
			switch program, rest, _ := strings.Cut(l.command, " "); {
			case slices.ContainsFunc(elsewhere, func(e struct{ begins, by string }) bool { return strings.HasPrefix(l.command, e.begins) }):
			case strings.HasPrefix(l.command, "go run ./cmd/narwhal "):
				s.narwhal(t, strings.TrimPrefix(l.command, "go run ./cmd/"))
			case program == "narwhal", program == "./narwhal", strings.HasPrefix(l.command, "source <(narwhal"):
				s.narwhal(t, strings.TrimPrefix(l.command, "./"))
			case program == "curl":
				s.get(t, rest)
			case program == "make":
				s.target(t, rest)
			case program == "go":
				tests(t, rest)
			default:
				t.Fatalf("no test runs it")
			}
		})
	}
	assert.Assert(t, len(ran) > 80, "%d", len(ran))
}

// TestOthersRunTheirs: the tests exist that run commands elsewhere.
func TestOthersRunTheirs(t *testing.T) {
	for _, e := range elsewhere {
		dir, name, _ := strings.Cut(e.by, " ")
		assert.Check(t, slices.Contains(declared(t, "../"+dir), name), "%s", e.by)
	}
}

// A shell has the program, a scheduler that it runs, and files as pages name them.
type shell struct{ bin, home, address, debug, pod string }

func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{bin: t.TempDir(), home: t.TempDir()}
	built, err := exec.Command("go", "build", "-o", s.bin, "../cmd/narwhal").CombinedOutput()
	assert.NilError(t, err, "%s", built)
	for name, from := range map[string]string{
		"queues.yaml": "testdata/queues.yaml", "old.yaml": "../cmd/narwhal/testdata/old.yaml", "cluster.yaml": "testdata/cluster.yaml",
		"question.yaml": "testdata/question.yaml", "NODES.csv": "../cmd/narwhal/testdata/openb-nodes.csv", "PODS.csv": "../cmd/narwhal/testdata/openb-pods.csv",
	} {
		text, err := os.ReadFile(from)
		assert.NilError(t, err)
		s.write(t, name, text)
	}
	s.write(t, "token", []byte("secret\n"))
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	certificate := secure.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	assert.NilError(t, err)
	s.write(t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}))
	s.write(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	assert.NilError(t, os.MkdirAll(filepath.Join(s.home, ".config/fish/completions"), 0o700))
	lines := s.start(t, "narwhal serve cluster.yaml --speed 60 --listen 127.0.0.1:0 --debug-listen 127.0.0.1:0", 6)
	s.address = strings.TrimSuffix(strings.TrimPrefix(lines[5], "http://"), "/")
	debug := regexp.MustCompile(`profiles +http://([^/]+)`).FindStringSubmatch(lines[3])
	assert.Assert(t, debug != nil, "%q", lines)
	s.debug = debug[1]
	s.waitForPods(t)
	return s
}

func (s *shell) write(t *testing.T, name string, text []byte) {
	t.Helper()
	assert.NilError(t, os.WriteFile(filepath.Join(s.home, name), text, 0o600))
}
