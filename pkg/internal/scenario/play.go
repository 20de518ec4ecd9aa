package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// Run plays every scenario of a directory as a sub-test named after its file, and
// compares what comes out with what is written; with -update it writes it.
func Run(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	assert.NilError(t, err)
	if len(files) == 0 {
		t.Fatalf("no scenario in %s", dir)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			runFile(t, file)
		})
	}
}

// Files are the scenarios of the package core, which stands in a directory, and of the packages below it, whose file
// names match a pattern. A test fails that finds none.
func Files(t *testing.T, core, pattern string) (files []string) {
	t.Helper()
	for _, dir := range []string{core, filepath.Join(core, "*")} {
		found, err := filepath.Glob(filepath.Join(dir, "testdata", "scenarios", pattern))
		assert.NilError(t, err)
		files = append(files, found...)
	}
	assert.Assert(t, len(files) > 0, "no scenario is called %s", pattern)
	return files
}

func runFile(t *testing.T, file string) {
	t.Helper()
	written, err := os.ReadFile(file)
	assert.NilError(t, err)
	came, err := Play(string(written))
	if err != nil {
		t.Fatalf("%s: %v\nso far:\n%s", file, err, came)
	}
	again, err := Play(string(written))
	assert.NilError(t, err)
	assert.Equal(t, again, came, "the same commands came out differently")
	absolute, err := filepath.Abs(file)
	assert.NilError(t, err)
	golden.Assert(t, came, absolute)
}

// Play carries out a scenario and returns its text with what came out of each
// step in the place of what was written there. An error names the line of the
// command that could not be read or that left broken books; the text then ends
// before its step.
func Play(text string) (string, error) {
	s, err := parse(text)
	if err != nil {
		return "", err
	}
	var (
		b strings.Builder
		w = newWorld(s)
	)
	for i, step := range s.steps {
		for _, line := range step.lines {
			b.WriteString(line + "\n")
		}
		out, err := w.play(step)
		if err != nil {
			return b.String(), err
		}
		b.WriteString(dashes + "\n" + out)
		if i < len(s.steps)-1 || len(s.rest) > 0 {
			b.WriteString("\n")
		}
	}
	for _, line := range s.rest {
		b.WriteString(line + "\n")
	}
	return b.String(), nil
}

func (w *world) play(s step) (string, error) {
	w.output.Reset()
	for _, c := range s.commands {
		if err := w.carryOut(c); err != nil {
			return "", err
		}
		if err := w.verify(); err != nil {
			return "", fmt.Errorf("line %d: after %s the books are wrong: %w", c.number, strings.Join(c.words, " "), err)
		}
	}
	if w.output.Len() == 0 {
		return "nothing\n", nil
	}
	return w.output.String(), nil
}

// carryOut runs a command once, or once for each line below it. A panic of the
// core is an error at the line of the command.
func (w *world) carryOut(c command) (err error) {
	number := c.number
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("panic: %v\n%s", broken, debug.Stack())
		}
		if err != nil {
			err = fmt.Errorf("line %d: %w", number, err)
		}
	}()
	v, words, err := find(c.words)
	if err != nil {
		return err
	}
	a := newArguments(w.kinds, words)
	if v.text != nil {
		if err := v.text(w, a, c.text()); err != nil {
			return err
		}
		return a.finish()
	}
	if len(c.input) == 0 {
		return w.once(v, a)
	}
	for _, line := range c.input {
		if strings.HasPrefix(strings.TrimSpace(line.text), "#") {
			continue
		}
		number = line.number
		words, err := split(line.text)
		if err != nil {
			return err
		}
		if err := w.once(v, a.under(words)); err != nil {
			return err
		}
	}
	return nil
}

// once reads the arguments before anything is done, so that a command that is
// misspelt does nothing.
func (w *world) once(v verb, a *arguments) error {
	do, err := v.line(w, a)
	if err != nil {
		return err
	}
	if err := a.finish(); err != nil {
		return err
	}
	do()
	return nil
}
