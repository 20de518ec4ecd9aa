package scenario

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

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

// Try carries out a scenario of which only what happens counts. It gives each event to see, verifies the books in the end only, and
// returns the partition as it is then. It is for texts that are tried by the hundred.
func Try(text string, see func(api.Event)) (*api.View, error) {
	s, err := parse(text)
	if err != nil {
		return nil, err
	}
	w := newWorld(s)
	w.see = see
	for _, step := range s.steps {
		w.output.Reset()
		for _, c := range step.commands {
			if err := w.carryOut(c); err != nil {
				return nil, err
			}
		}
	}
	return w.here().View(), w.verify()
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
