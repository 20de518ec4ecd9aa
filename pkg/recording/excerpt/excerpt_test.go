package excerpt_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario/scenariotest"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/excerpt"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

const partition = "[played]default"

// began is when every simulation does.
var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// A world is a cluster by chance that is recorded.
type world struct {
	directory *recording.Directory
	outcomes  []recording.Wanted // all that there were, of each pod once
}

// recorded records the first minutes of a simulation whose resource manager refuses some nodes.
func recorded(t *testing.T, seed uint64, name string, last time.Duration) (w world) {
	t.Helper()
	text, err := simulator.ExampleText(name)
	assert.NilError(t, err)
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	directory := t.TempDir()
	r, err := recording.New(recording.Config{Directory: directory, SegmentAge: time.Hour})
	assert.NilError(t, err)
	remote := simulator.NewRemote(s, seed)
	options := api.Options{Partition: partition, Kinds: s.Kinds, Budgets: remote.Budgets}
	m := &manager{seed: seed, runs: map[api.NodeID]map[api.AllocationKey]bool{}}
	if seed%2 == 0 {
		options.Feasible = func(key api.AllocationKey, node api.NodeID, _ bool) error { return m.refuses(key, node, nil) }
		options.Simulate = func(key api.AllocationKey, node api.NodeID, _, remove []api.AllocationKey) error {
			return m.refuses(key, node, remove)
		}
		options.Constraints = func(key api.AllocationKey) string { return classOf(key) }
	}
	p, steps := r.Begin(began, options, s.Config)
	seen := map[recording.Wanted]bool{}
	note := func(key api.AllocationKey, o recording.Outcome) {
		if one := (recording.Wanted{Pod: string(key), Outcome: o}); !seen[one] {
			seen[one] = true
			w.outcomes = append(w.outcomes, one)
		}
	}
	for now, next := time.Duration(0), time.Duration(0); now <= last; now = next {
		commands, due := remote.Advance(now)
		observe := func(fx api.Effects) {
			for _, event := range fx {
				remote.Observe(now, event)
				m.observe(event)
				switch e := event.(type) {
				case api.Placed:
					note(e.Key, recording.Placed)
				case *api.EvictionRequested:
					note(e.Key, recording.Evicted)
				case *api.Unschedulable:
					note(e.Key, recording.Waits)
				}
			}
		}
		for _, c := range commands {
			observe(steps.Apply(began.Add(now), c))
		}
		fx, more := steps.Schedule(began.Add(now))
		observe(fx)
		next = max(due, now+time.Millisecond)
		if own, is := p.Due(); more {
			next = now + time.Millisecond
		} else if is && own.After(began.Add(now)) {
			next = min(next, own.Sub(began))
		}
	}
	steps.End()
	r.Close()
	w.directory, err = recording.Read(directory)
	assert.NilError(t, err)
	return w
}

// any is an outcome by chance, of one kind after the other.
func (w *world) any(i int, chance *rand.Rand) recording.Wanted {
	kinds := map[recording.Outcome][]recording.Wanted{}
	for _, one := range w.outcomes {
		kinds[one.Outcome] = append(kinds[one.Outcome], one)
	}
	some := kinds[slices.Sorted(maps.Keys(kinds))[i%len(kinds)]]
	return some[chance.IntN(len(some))]
}

// classOf is the name before the last dash or slash: asks of one application are answered alike.
func classOf(key api.AllocationKey) string {
	return string(key)[:max(strings.LastIndexAny(string(key), "-/"), 0)]
}

// A manager refuses some nodes for good, and pods of some applications beside each other.
type manager struct {
	seed uint64
	runs map[api.NodeID]map[api.AllocationKey]bool
}

func (m *manager) observe(event api.Event) {
	switch e := event.(type) {
	case api.Placed:
		if m.runs[e.Node] == nil {
			m.runs[e.Node] = map[api.AllocationKey]bool{}
		}
		m.runs[e.Node][e.Key] = true
	case *api.Ended:
		delete(m.runs[e.Node], e.Key)
	}
}

func (m *manager) refuses(key api.AllocationKey, node api.NodeID, without []api.AllocationKey) error {
	by := func(one, other string) bool {
		sum := fnv.New64a()
		fmt.Fprint(sum, m.seed, " ", one, " ", other)
		return sum.Sum64()>>20%6 == 0
	}
	if by(classOf(key), string(node)) {
		return hopeless{}
	}
	for other := range m.runs[node] {
		if one, class := classOf(key), classOf(other); one != class && by(min(one, class), max(one, class)) && !slices.Contains(without, other) {
			return errors.New("not beside others")
		}
	}
	return nil
}

// hopeless is a refusal that no eviction would help.
type hopeless struct{}

func (hopeless) Error() string      { return "never here" }
func (hopeless) Unresolvable() bool { return true }

// Whatever became of a pod in a random cluster, the scenario shows it when it is played as a test, and no line of it can be left out. Where none
// shows it that is said.
func TestWhateverBecameOfAPod(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	counts := map[recording.Outcome]int{}
	first, _, torture := seeds.Torture(t)
	for seed := first + 4; seed < first+6; seed++ {
		name := "small"
		if torture {
			name = "fairness"
		}
		w := recorded(t, seed, name, 25*time.Minute)
		chance := rand.New(rand.NewPCG(seed, 0))
		for i := range 3 {
			one := w.any(i, chance)
			made, err := excerpt.Make(t.Context(), w.directory, partition, one, nil)
			if errors.Is(err, excerpt.ErrNotShown) {
				counts["not shown"]++ // refusals that depend on others are not known in full
				continue
			}
			assert.NilError(t, err, "seed %d: %+v", seed, one)
			assert.Assert(t, made.Whole)
			played, err := scenario.Play(made.Text)
			assert.NilError(t, err)
			assert.Equal(t, played, made.Text)
			assert.Assert(t, says(made.Text, one), "seed %d: %s", seed, made.Text)
			for _, less := range withoutALine(made.Text) {
				assert.Assert(t, !made.Shows(less), "seed %d: %+v:\n%s\nless:\n%s", seed, one, made.Text, less)
			}
			counts[one.Outcome]++
		}
	}
	assert.Assert(t, counts["not shown"] <= 1 && counts[recording.Evicted] > 0 && counts[recording.Waits] > 0 && counts[recording.Placed] > 0, "%v", counts)
}

// says reports whether a text says what became of a pod.
func says(text string, w recording.Wanted) bool {
	return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
		words := append(strings.Fields(line), "", "", "")
		switch w.Outcome {
		case recording.Placed:
			return words[0] == "placed" && words[1] == w.Pod
		case recording.Evicted:
			return words[0] == "released" && words[1] == w.Pod && words[2] == "PREEMPTED_BY_SCHEDULER:"
		default:
			return words[0] == w.Pod && line[0] != ' ' && words[1] != ""
		}
	})
}

// withoutALine are the texts of which one line is left out, and what is indented below it.
func withoutALine(text string) (all []string) {
	var input []string
	output := false
	for line := range strings.Lines(text) {
		if output = line == "----\n" || output && line != "\n"; !output && line != "\n" && line[0] != '#' && line != "show asks\n" {
			input = append(input, line)
		}
	}
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	for i := range input {
		end := i + 1
		for end < len(input) && indent(input[end]) > indent(input[i]) {
			end++
		}
		if rest := slices.Concat(input[:i], input[end:]); len(rest) > 0 {
			all = append(all, strings.Join(rest, "")+"----\n")
		}
	}
	return all
}

// An incident as a file: a pod is evicted beside others that the resource manager does not want there. The file is played as every scenario is.
func TestAnIncidentBecomesATest(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	w := recorded(t, 2, "fairness", 25*time.Minute)
	at := slices.IndexFunc(w.outcomes, func(o recording.Wanted) bool { return o.Outcome == recording.Evicted })
	told := 0
	made, err := excerpt.Make(t.Context(), w.directory, partition, w.outcomes[at], func(int, int) { told++ })
	assert.NilError(t, err)
	assert.Equal(t, told, made.Played)
	golden.Assert(t, made.Text, "scenarios/incident.txt")
	scenariotest.Run(t, "testdata/scenarios")

	// Where it is interrupted it is what was found until then, and nothing before the outcome was shown.
	ctx, cancel := context.WithCancel(t.Context())
	sooner, err := excerpt.Make(ctx, w.directory, partition, w.outcomes[at], func(played, _ int) {
		if played == made.Played/4 {
			cancel()
		}
	})
	assert.NilError(t, err)
	assert.Assert(t, !sooner.Whole && sooner.After > made.After && sooner.Shows(sooner.Text), sooner.Text)
	_, err = excerpt.Make(ctx, w.directory, partition, w.outcomes[at], nil)
	assert.ErrorIs(t, err, context.Canceled)
}

// What there is not is said: a pod, or an outcome of it.
func TestNoOutcome(t *testing.T) {
	w := recorded(t, 1, "small", time.Minute)
	for _, one := range []recording.Wanted{{Pod: "none", Outcome: recording.Placed}, {Pod: w.outcomes[0].Pod, Outcome: recording.Waits, Reason: "quota"}} {
		_, err := excerpt.Make(t.Context(), w.directory, partition, one, nil)
		assert.ErrorIs(t, err, recording.ErrNoMoment)
		assert.ErrorContains(t, err, fmt.Sprintf("there is no step of partition %s after which pod %s %s", partition, one.Pod, one))
	}
}

// An outcome that shows, but not as it was, has four earlier beginnings tried and no more: each has twice as many steps.
func TestFewEarlierBeginningsAreTried(t *testing.T) {
	w := recorded(t, 1, "small", 25*time.Minute)
	placed := slices.DeleteFunc(slices.Clone(w.outcomes), func(o recording.Wanted) bool { return o.Outcome != recording.Placed })
	tried, all, err := excerpt.BeginningsTried(w.directory, partition, placed[len(placed)-1])
	assert.NilError(t, err)
	assert.Assert(t, all > 6, "%d beginnings", all)
	assert.Equal(t, tried, 5)
}
