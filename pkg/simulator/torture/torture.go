package torture

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// A Config says what is played. Zero functions are left out.
type Config struct {
	Seed  uint64              // of the first world; the next one has the next
	Steps int                 // that are played at least: commands applied, and calls of Schedule
	World func(uint64) string // the scenario of a seed; World where it is nil
	Tell  func(t *Tally)      // called after each world, and each one that is tried to be smaller
	Stops func() bool         // asked as often whether to end
	// InTime plays a world and reports whether that came to an end soon enough. What does not is left behind.
	InTime func(play func()) bool
}

// A Failure is a world that breaks a law.
type Failure struct {
	Seed     uint64
	Err      error  // what broke in the world of the seed
	Scenario string // the smallest that was found to break the same, and why it does
}

// Run plays worlds until there were enough steps, or one breaks a law.
func Run(c Config) (*Tally, *Failure) {
	if c.World == nil {
		c.World = World
	}
	t := &Tally{}
	for seed := c.Seed; t.Steps < c.Steps && !c.stops(); seed++ {
		text := c.World(seed)
		result, steps, err := c.play(text)
		t.count(result, steps)
		c.tell(t)
		if err != nil {
			return t, &Failure{Seed: seed, Err: err, Scenario: c.least(t, text, err)}
		}
	}
	return t, nil
}

// errEndless is about a world in which a call of the core does not return.
var errEndless = errors.New("it does not come to an end")

// play plays a scenario with all laws, in time.
func (c *Config) play(text string) (*simulator.Result, int, error) {
	if c.InTime == nil {
		return play(text)
	}
	var got struct {
		result *simulator.Result
		steps  int
		err    error
	}
	if !c.InTime(func() { got.result, got.steps, got.err = play(text) }) {
		return nil, 0, errEndless
	}
	return got.result, got.steps, got.err
}

func (c *Config) tell(t *Tally) {
	if c.Tell != nil {
		c.Tell(t)
	}
}

func (c *Config) stops() bool { return c.Stops != nil && c.Stops() }

// play plays a scenario with all laws. A panic of the core is an error.
func play(text string) (result *simulator.Result, steps int, err error) {
	s, err := simulator.Parse(text)
	if err != nil {
		return nil, 0, &unplayable{err}
	}
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	result, err = simulator.Run(s, simulator.Options{Verify: true, Progress: func(p simulator.Progress) { steps = p.Steps }})
	return result, steps, err
}

// unplayable is a scenario that is none.
type unplayable struct{ error }

func (u *unplayable) Unwrap() error { return u.error }

var (
	heads = regexp.MustCompile(`^(scenario \S+, seed \d+: )?((\*|\w+)\.\w+: )?(at [\w.]+: )?`)
	names = regexp.MustCompile(`\S*[\d/=\[\]{}]\S*`)
)

// classWords is how many words of an error say which law is broken.
const classWords = 12

// class is the law that an error says is broken, without names, numbers and times.
func class(err error) string {
	if _, is := errors.AsType[*unplayable](err); is {
		return "unplayable"
	}
	text, _, _ := strings.Cut(heads.ReplaceAllString(err.Error(), ""), "\n")
	words := strings.Fields(names.ReplaceAllString(text, "#"))
	return strings.Join(words[:min(classWords, len(words))], " ")
}
