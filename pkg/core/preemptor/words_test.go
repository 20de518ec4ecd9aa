package preemptor

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Words are what package explain, which imports this one, makes of a decision.
var Words struct {
	Summary, Explain func(*Decision, *resources.Kinds) string
	Failure          func(Failure) string
	Victim           func(*Victim) string
}

func (d Decision) Summary(kinds *resources.Kinds) string { return Words.Summary(&d, kinds) }

func (d Decision) Explain(kinds *resources.Kinds) string { return Words.Explain(&d, kinds) }

func (f Failure) String() string { return Words.Failure(f) }

func (v Victim) String() string { return Words.Victim(&v) }

// String is the decision on one line, without quantities.
func (d Decision) String() string {
	if d.Reason != Chosen {
		return d.Reason.String()
	}
	by := d.Strategy.String()
	if d.Given {
		by = "the resource manager"
	}
	keys := make([]string, len(d.Victims))
	for i, v := range d.Victims {
		keys[i] = v.Key
	}
	return fmt.Sprintf("chosen by %s: %s", by, strings.Join(keys, ", "))
}
