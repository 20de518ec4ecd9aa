package docs_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// start runs a command that does not end, reads lines of it, and interrupts it when the test is over.
func (s *shell) start(t *testing.T, command string, lines int) (read []string) {
	t.Helper()
	cmd := s.command(t, "exec "+command)
	out, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	var problems strings.Builder
	cmd.Stderr = &problems
	assert.NilError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NilError(t, cmd.Process.Signal(syscall.SIGINT))
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() > 0 {
			t.Fatalf("%v: %s", err, problems.String())
		}
	})
	for scanner := bufio.NewScanner(out); len(read) < lines; read = append(read, scanner.Text()) {
		assert.Assert(t, scanner.Scan(), "it ended; what it said comes once it has")
	}
	return read
}

// command is one of bash, with the program in its path.
func (s *shell) command(t *testing.T, text string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("bash", "-c", text) // it outlives the context of a test that ends
	cmd.Dir = s.home
	cmd.Env = append(os.Environ(), "PATH="+s.bin+":"+os.Getenv("PATH"), "HOME="+s.home)
	return cmd
}

// waitForPods waits until the scheduler tells why a pod waits, which is that of which pages ask.
func (s *shell) waitForPods(t *testing.T) {
	t.Helper()
	answer, err := http.Get("http://" + s.address + "/ws/v1/events/stream?count=1000")
	assert.NilError(t, err)
	defer answer.Body.Close()
	for scanner := bufio.NewScanner(answer.Body); scanner.Scan(); {
		var event struct{ Message, ObjectID string }
		if json.Unmarshal(scanner.Bytes(), &event) == nil && strings.Contains(event.Message, "no node can take the request") {
			s.pod = event.ObjectID
			return
		}
	}
	t.Fatal("the stream ended")
}

// asks are the commands that ask a scheduler.
var asks = regexp.MustCompile(`^narwhal (queues|nodes|domains|groups|pending|preemptions|losses|changes|users|apps|explain|whatif)\b`)

// narwhal runs the program as a page does. A name alone is a mention, for which there is help.
func (s *shell) narwhal(t *testing.T, command string) {
	t.Helper()
	command = strings.NewReplacer(
		"127.0.0.1:9080", s.address, " POD ", " "+s.pod+" ", " NODE ", " node-1 ", "${fpath[1]}", ".", "> cluster.yaml", "> printed.yaml", " bin/", " ", ":9443", "127.0.0.1:0", "127.0.0.1:8080", "127.0.0.1:0", "127.0.0.1:8081", "127.0.0.1:0",
	).Replace(command + " ")
	switch fields := strings.Fields(command); {
	case len(fields) == 2 && (!asks.MatchString(command) || fields[1] == "explain" || fields[1] == "whatif") || fields[1] == "COMMAND":
		command = "narwhal " + strings.Replace(fields[1], "COMMAND", "queues", 1) + " --help"
	case fields[1] == "serve" && !strings.Contains(command, "--help"):
		if !strings.Contains(command, "--listen") {
			command += " --listen 127.0.0.1:0"
		}
		s.start(t, command, 5)
		return
	case asks.MatchString(command) && !strings.Contains(command, "--server"):
		command += " --server " + s.address
	}
	if strings.Contains(command, "--watch") {
		s.start(t, command, 1)
		return
	}
	out, err := s.command(t, command).CombinedOutput()
	assert.NilError(t, err, "%s: %s", command, out)
}

// get asks for what a page has curl ask for.
func (s *shell) get(t *testing.T, arguments string) {
	t.Helper()
	url := regexp.MustCompile(`http://[^' ]+`).FindString(arguments)
	address := s.address
	if strings.Contains(url, "/debug/") {
		address = s.debug
	}
	answer, err := http.Get(strings.Replace(url, "127.0.0.1:9080", address, 1))
	assert.NilError(t, err)
	assert.NilError(t, answer.Body.Close())
	assert.Equal(t, answer.StatusCode, http.StatusOK)
}

// target has make say what it would do, and runs what that is of the program.
func (s *shell) target(t *testing.T, arguments string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "make -n --no-print-directory "+arguments)
	cmd.Dir = ".."
	said, err := cmd.CombinedOutput()
	assert.NilError(t, err, "%s", said)
	for command := range strings.Lines(string(said)) {
		if _, of, is := strings.Cut(strings.TrimSpace(command), "run ./cmd/"); is {
			s.narwhal(t, of)
		}
	}
}

// function is a test or benchmark of a file.
var function = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`)

// declared are the tests of a directory, or with dots at its end of all below it.
func declared(t *testing.T, dir string) (names []string) {
	t.Helper()
	top, below := strings.CutSuffix(dir, "/...")
	assert.NilError(t, filepath.WalkDir(top, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() && path != top && !below {
			if entry != nil && entry.IsDir() {
				return filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
		return err
	}))
	return names
}

// tests looks whether a command of Go that tests or measures, and would take long, has something to do: there are such packages,
// and each regular expression finds tests or benchmarks of them. The lists of Go it runs.
func tests(t *testing.T, arguments string) {
	t.Helper()
	if strings.HasPrefix(arguments, "list ") {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", "go "+arguments)
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		assert.NilError(t, err, "%s", out)
		return
	}
	assert.Assert(t, strings.HasPrefix(arguments, "test ") || strings.HasPrefix(arguments, "vet "), arguments)
	var names []string
	packages := regexp.MustCompile(`\./[\w./-]+`).FindAllString(arguments, -1)
	assert.Assert(t, len(packages) > 0)
	for _, dir := range packages {
		there := declared(t, filepath.Join("..", strings.TrimSuffix(dir, "/..."))+strings.Repeat("/...", strings.Count(dir, "/...")))
		assert.Assert(t, len(there) > 0, "%s has no tests", dir)
		names = append(names, there...)
	}
	for _, asked := range regexp.MustCompile(`-(run|bench) '?([^' ]+)'?`).FindAllStringSubmatch(arguments, -1) {
		if asked[2] == "^$" {
			continue
		}
		first, _, _ := strings.Cut(asked[2], "/")
		matches := regexp.MustCompile(first)
		kind := map[string]string{"run": "Test", "bench": "Benchmark"}[asked[1]]
		found := false
		for _, name := range names {
			found = found || strings.HasPrefix(name, kind) && matches.MatchString(name)
		}
		assert.Assert(t, found, "%s finds nothing in %v", asked[0], packages)
	}
}
