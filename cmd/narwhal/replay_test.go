package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// began is when every play does.
var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// recorded records what happens in the first minutes of the example "fairness".
func recorded(t *testing.T) (directory string) {
	t.Helper()
	text, err := simulator.ExampleText("fairness")
	assert.NilError(t, err)
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	directory = t.TempDir()
	r, err := recording.New(recording.Config{Directory: directory, SegmentAge: time.Hour})
	assert.NilError(t, err)
	defer r.Close()
	remote := simulator.NewRemote(s, 1)
	p, steps := r.Begin(began, api.Options{Partition: "[played]default", Kinds: s.Kinds, Budgets: remote.Budgets}, s.Config)
	defer steps.End()
	for now, next := time.Duration(0), time.Duration(0); now <= 25*time.Minute; now = next {
		commands, due := remote.Advance(now)
		at := began.Add(now)
		observe := func(fx api.Effects) {
			for _, event := range fx {
				remote.Observe(now, event)
			}
		}
		for _, c := range commands {
			observe(steps.Apply(at, c))
		}
		for more := true; more; {
			var fx api.Effects
			fx, more = steps.Schedule(at)
			observe(fx)
		}
		next = max(due, now+time.Millisecond)
		if own, ok := p.Due(); ok && own.After(at) {
			next = min(next, own.Sub(began))
		}
	}
	return directory
}

// replay runs a command line about a recording.
func replay(t *testing.T, line string) (code int, out, problems string) {
	t.Helper()
	var told, errs bytes.Buffer
	code = run(strings.Fields("replay "+line), nil, &told, &errs)
	return code, told.String(), errs.String()
}

// A recording comes out the same; a last file that is torn is told, one before the last is an error.
func TestReplayVerifies(t *testing.T) {
	directory := recorded(t)
	code, out, problems := replay(t, directory)
	assert.Equal(t, code, exitDone, problems)
	assert.Assert(t, regexp.MustCompile(`^\[played\]default 2000-01-01 00:00:00 – 2000-01-01 00:2[45]:[0-9]{2}: \d{3,} steps, the same\n$`).MatchString(out), out)

	files, err := filepath.Glob(filepath.Join(strings.NewReplacer("[", `\[`).Replace(directory), "*", "*"))
	assert.NilError(t, err)
	content, err := os.ReadFile(files[0])
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(files[0], content[:len(content)-5], 0o600))
	code, out, _ = replay(t, directory)
	assert.Equal(t, code, exitDone)
	assert.Assert(t, strings.Contains(out, "the same; then "+files[0]+": after step ") && strings.Contains(out, "torn"), out)
}

// The same history under another configuration goes differently from some step on, and under the same one it does not.
func TestReplayUnderAnotherConfiguration(t *testing.T) {
	directory := recorded(t)
	text, err := simulator.ExampleText("fairness")
	assert.NilError(t, err)
	_, queues, _ := strings.Cut(text, "\nqueues:\n")
	queues, _, _ = strings.Cut(queues, "\nnodes:")
	same, other := filepath.Join(t.TempDir(), "same.yaml"), filepath.Join(t.TempDir(), "other.yaml")
	assert.NilError(t, os.WriteFile(same, []byte(queues), 0o600))
	assert.NilError(t, os.WriteFile(other, []byte(strings.Replace(queues, "max: {vcore: 400, memory: 1600Gi}", "max: {vcore: 200, memory: 1600Gi}", 1)), 0o600))
	code, out, problems := replay(t, directory+" --config "+same)
	assert.Equal(t, code, exitDone, problems)
	assert.Assert(t, strings.HasSuffix(out, "steps\nnothing would have gone differently\n"), out)
	code, out, problems = replay(t, directory+" --config "+other)
	assert.Equal(t, code, exitDone, problems)
	for _, want := range []string{"first difference: " + directory, "not placed any more: ", "pods: "} {
		assert.Assert(t, strings.Contains(out, want), "%s: %s", want, out)
	}
}

// A copy with other names is played as the recording is, and is not mixed with what is there.
func TestReplayRedacts(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	directory, to := recorded(t), filepath.Join(t.TempDir(), "sent")
	code, out, problems := replay(t, directory+" --redact "+to)
	assert.Equal(t, code, exitDone, problems)
	assert.Assert(t, regexp.MustCompile(`sent: \d{3,} steps, with other names for \d\d words, the same decisions\n$`).MatchString(out), out)
	_, before, _ := replay(t, directory)
	code, after, problems := replay(t, to)
	assert.Equal(t, code, exitDone, problems)
	name, rest, _ := strings.Cut(after, " ")
	assert.Assert(t, name != "[played]default" && "[played]default "+rest == before, after)
	code, _, problems = replay(t, directory+" --redact "+to)
	assert.Equal(t, code, exitFailed)
	assert.Assert(t, strings.Contains(problems, to+" is not empty"), problems)
}

// A scenario is made of a copy with other names, which stand in none of it.
func TestReplayShrinksWithOtherNames(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	directory, to := recorded(t), filepath.Join(t.TempDir(), "sent")
	code, out, problems := replay(t, directory+" --until-first front/3 placed --shrink --redact "+to)
	assert.Equal(t, code, exitDone, problems)
	assert.Assert(t, strings.Contains(out, "\nplaced ") && !strings.Contains(out, "front"), out)
	assert.Assert(t, strings.Contains(problems, "the same decisions"), problems)
}

// A moment is served with what was told until then: REST, the dashboard, and why a pod was evicted.
func TestReplayAtAMoment(t *testing.T) {
	directory := recorded(t)
	for line, want := range map[string]string{
		" --at 2000-01-01T00:10:00Z": "[played]default as of 2000-01-01T00:10:00Z, after step ",
		" --until-first front/3":     "[played]default as of 2000-01-01T00:00:",
	} {
		address, first := served(t, directory+line)
		assert.Assert(t, strings.HasPrefix(first, want), first)
		assert.Assert(t, strings.Contains(get(t, address+"ws/v1/partition/default/applications/active"), `"front"`))
		assert.Assert(t, strings.Contains(get(t, address+"ws/v1/events/batch"), `"objectID"`))
		assert.Assert(t, strings.Contains(get(t, address), "<html data-replay"))
	}
}

// TestAgesOfAMoment: lists about a moment of a recording count ages from that moment, and not from now.
func TestAgesOfAMoment(t *testing.T) {
	address, _ := served(t, recorded(t)+" --at 2000-01-01T00:20:00Z")
	for line, want := range map[string]string{"pending": `\b\d{1,2}[ms]\b`, "apps": `\b\d{1,2}[ms]\b`, "top --once --queue root.shop": `\b\d{1,2}[ms]\b`} {
		var out bytes.Buffer
		code := run(append(strings.Fields(line), "--server", strings.TrimSuffix(address, "/")), nil, &out, &out)
		assert.Equal(t, code, exitDone, out.String())
		assert.Assert(t, regexp.MustCompile(want).MatchString(out.String()), out.String())
		assert.Assert(t, !regexp.MustCompile(`\b\d+d`).MatchString(out.String()), out.String())
	}
}

// served begins a command that serves a moment, and ends it with the test. It returns the address and the first line.
func served(t *testing.T, line string) (address, first string) {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	root, out := newRootCommand(), &lineWriter{lines: make(chan string, 10)}
	root.SetArgs(strings.Fields("replay " + line))
	root.SetOut(out)
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		end()
		assert.NilError(t, <-done)
	})
	select {
	case text := <-out.lines:
		lines := strings.Split(strings.TrimSpace(text), "\n")
		return lines[len(lines)-1], lines[0]
	case err := <-done:
		done <- err
		t.Fatal(err)
	}
	return "", ""
}

// A lineWriter hands on what is written to it.
type lineWriter struct{ lines chan string }

func (w *lineWriter) Write(p []byte) (int, error) {
	w.lines <- string(p)
	return len(p), nil
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	assert.NilError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	assert.NilError(t, errors.Join(err))
	assert.Equal(t, answer.StatusCode, http.StatusOK, string(text))
	return string(text)
}

// What cannot be played says why, and what would be right.
func TestReplayThatCannotBe(t *testing.T) {
	directory := recorded(t)
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"", "replay takes the directory", exitUsage},
		{"nowhere", "open nowhere", exitUsage},
		{t.TempDir(), "has no recording", exitUsage},
		{directory + " later", `"later" is too much: placed, evicted or waits[:REASON] may follow`, exitUsage},
		{directory + " --at 25", `"25" is no time: it would be 14:03`, exitUsage},
		{directory + " --at 1999-01-01T00:00:00Z", "it begins at 2000-01-01", exitFailed},
		{directory + " --until-first nobody evicted", "there is no step of partition [played]default after which pod nobody is evicted", exitFailed},
		{directory + " --until-first front/3 gone", `"gone" becomes of no pod: placed, evicted or waits[:REASON] may follow`, exitUsage},
		{directory + " --until-first front/3 placed:quota", `"placed:quota" becomes of no pod`, exitUsage},
		{directory + " --until-first front/3 waits:rain", `no ask waits for "rain"; reasons are: not tried yet; queue quota exceeded;`, exitUsage},
		{directory + " --shrink", "--shrink needs --until-first", exitUsage},
		{directory + " --shrink --until-first nobody waits", "after which pod nobody waits", exitFailed},
		{directory + " --until-first front/3 --redact sent", "--redact goes together with --until-first only to --shrink", exitUsage},
		{directory + " --partition fault", "--partition must name one of [played]default", exitUsage},
		{directory + " --at 00:10 --partition other", "--partition must name one of [played]default", exitUsage},
		{directory + " --config none.yaml", "open none.yaml", exitUsage},
		{directory + " --config testdata/old.yaml --at 00:10", "if any flags in the group", exitUsage},
	} {
		code, out, problems := replay(t, c.line)
		assert.Equal(t, code, c.code, "%s: %s", c.line, problems)
		assert.Assert(t, strings.Contains(problems, c.want), "%s: %s", c.line, problems)
		assert.Equal(t, out, "", c.line)
	}
}

// TestReplayCommandsOfTheDocument runs the commands of the page about recordings.
func TestReplayCommandsOfTheDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	directory := recorded(t)
	page, err := os.ReadFile("../../docs/reliability.md")
	assert.NilError(t, err)
	queues := filepath.Join(t.TempDir(), "queues.yaml")
	assert.NilError(t, os.WriteFile(queues, []byte("partitions: [{name: default, queues: [{name: root, queues: [{name: red}, {name: blue}, {name: shop}, {name: system}]}]}]"), 0o600))
	ran := 0
	for line := range strings.Lines(string(page)) {
		command, is := strings.CutPrefix(line, "narwhal replay ")
		if !is {
			continue
		}
		ran++
		command, _, _ = strings.Cut(command, "#")
		command = strings.NewReplacer("recordings", directory, "14:03", "2000-01-01T00:10:00Z", "web-1", "train-6/13", "queues.yaml", queues, "to-send", filepath.Join(t.TempDir(), "sent")).Replace(command)
		if strings.Contains(command, "--shrink") {
			code, out, problems := replay(t, command)
			assert.Equal(t, code, exitDone, "%s: %s", command, problems)
			assert.Assert(t, strings.Contains(out, "\nreleased train-6/13 PREEMPTED_BY_SCHEDULER: "), out)
			continue
		}
		if strings.Contains(command, "--at") || strings.Contains(command, "--until-first") {
			served(t, command)
			continue
		}
		code, out, problems := replay(t, command)
		assert.Equal(t, code, exitDone, "%s: %s", command, problems)
		assert.Assert(t, strings.Contains(out, "steps"), out)
	}
	assert.Assert(t, ran > 3, "%d", ran)
}
