package torture

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/shrink"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// triesMax and stepsMax are how many scenarios, and steps of them, are played at most to find a small one: a few minutes.
const triesMax, stepsMax = 5000, 1_000_000

// A reducer leaves out of a scenario what is not needed to break a law.
type reducer struct {
	*Config
	tally *Tally
	class string // of the failure
	root  *yaml.Node
	err   error // of the last scenario that broke the same law
	most  int   // steps

	peaceful bool // pods do not end, and would if nothing but them happened
}

// least is the smallest scenario that was found to break the same law, and how it is played. An endless one stays as it is.
func (c *Config) least(t *Tally, text string, err error) string {
	r := &reducer{Config: c, tally: t, class: class(err), err: err, most: t.Steps + stepsMax}
	if root, _, bad := yamltree.Parse(text); bad == nil && r.class != class(&unplayable{}) && !errors.Is(err, errEndless) {
		r.root = root
		r.reduce()
		text = r.text()
	}
	what, _, _ := strings.Cut(r.err.Error(), "\n")
	return fmt.Sprintf("# %s\n# narwhal simulate --scenario FILE --verify shows it.\n%s", what, text)
}

// text is the scenario as it is now.
func (r *reducer) text() string {
	text, err := yaml.Marshal(r.root)
	if err != nil {
		panic(fmt.Sprintf("a scenario that was read cannot be written: %v", err))
	}
	return string(text)
}

// holds reports whether the scenario breaks the same law.
func (r *reducer) holds() bool {
	if r.tally.Tries >= triesMax || r.tally.Steps >= r.most || r.stops() {
		return false
	}
	err := r.try()
	if err == nil || class(err) != r.class || r.peaceful && !r.endsInPeace() {
		return false
	}
	r.err = err
	return true
}

// try plays the scenario.
func (r *reducer) try() error {
	_, steps, err := r.play(r.text())
	r.tally.Tries++
	r.tally.Steps += steps
	r.tell(r.tally)
	return err
}

// isLiveness reports whether it is looked for pods that do not end. A smaller world could be one in which they cannot.
func (r *reducer) isLiveness() bool {
	return strings.Contains(r.class, "not ended") || strings.Contains(r.class, "not come")
}

// endsInPeace reports whether all pods end where nothing happens but them.
func (r *reducer) endsInPeace() bool {
	all := r.root.Content
	defer func() { r.root.Content = all }()
	r.root.Content = nil
	for i := 0; i < len(all); i += 2 {
		if !slices.Contains([]string{"incidents", "changes", "faults"}, all[i].Value) {
			r.root.Content = append(r.root.Content, all[i], all[i+1])
		}
	}
	return r.try() == nil
}

// reduce leaves out and makes smaller what it can, until nothing can be.
func (r *reducer) reduce() {
	r.peaceful = r.isLiveness() && r.endsInPeace()
	for before := ""; before != r.text(); {
		before = r.text()
		if r.entries(r.root); r.isLiveness() && !r.peaceful {
			continue
		}
		r.keys(r.root)
		r.numbers(r.root)
	}
}

// entries leaves out entries of lists, the outer lists first.
func (r *reducer) entries(at *yaml.Node) {
	if at.Kind == yaml.SequenceNode {
		r.leave(at, slices.Clone(at.Content), 1)
	}
	for _, below := range at.Content {
		r.entries(below)
	}
}

// keys leaves out keys of mappings with their values, the outer ones first.
func (r *reducer) keys(at *yaml.Node) {
	if at.Kind == yaml.MappingNode {
		r.leave(at, slices.Clone(at.Content), 2)
	}
	for _, below := range at.Content {
		r.keys(below)
	}
}

// leave leaves out what it can of a node that has so many nodes for each part.
func (r *reducer) leave(at *yaml.Node, all []*yaml.Node, each int) {
	parts := slices.Collect(slices.Chunk(all, each))
	at.Content = slices.Concat(shrink.Least(parts, func(some [][]*yaml.Node) bool {
		at.Content = slices.Concat(some...)
		return r.holds()
	})...)
}

// numbers makes numbers, percentages and times small, and random ones fixed.
func (r *reducer) numbers(at *yaml.Node) {
	if at.Kind == yaml.ScalarNode {
		for _, smaller := range simpler(at.Value) {
			was := at.Value
			if at.Value = smaller; r.holds() {
				r.numbers(at)
				return
			}
			at.Value = was
		}
	}
	for i, below := range at.Content {
		if at.Kind != yaml.MappingNode || i%2 == 1 && !slices.Contains([]string{"seed", "name", "ends"}, at.Content[i-1].Value) {
			r.numbers(below)
		}
	}
}

// simpler are values to try in place of one, the simplest first.
func simpler(text string) []string {
	if from, to, is := strings.Cut(text, ".."); is {
		return []string{from, to}
	}
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	n, err := strconv.Atoi(text[:digits])
	unit := text[digits:]
	if err != nil || strings.ContainsAny(unit, "0123456789") {
		return nil
	}
	var list []string
	for _, smaller := range []int{1, n / 2, n - n%10, n - 1} {
		if smaller > 0 && smaller < n && !slices.Contains(list, strconv.Itoa(smaller)+unit) {
			list = append(list, strconv.Itoa(smaller)+unit)
		}
	}
	return list
}
