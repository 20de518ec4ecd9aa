package preemptor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestScenarios runs the texts of testdata: steps of commands, four dashes, and
// the expected output. The verbs:
//
//	config strategies=single,multiple delay=30s    deviation=, victims=, steps=;
//	                                               disabled, spare-foreign, equals-too, by-qos;
//	                                               budgets=prefer, strict or hard
//	node vcore=500                                 what is free; its allocations, one a line:
//	  web-1 vcore=500 priority=1 age=5m            required, foreign, static, owner,
//	                                               opted-out, protected, releasing, overdue,
//	                                               elsewhere, outside, same-queue;
//	                                               qos=0 to 2, floors=, budgets=
//	quota vcore=3                                  what must be freed of the quota
//	floor root.a vcore=3                           what may be taken below a queue
//	budget web allowed=1                           how many of it may be removed
//	conflict web-1,web-2                           the ask cannot run beside these
//	plan fluentd vcore=450 reserved=31s            priority=, trigger=; the summary and the victims
//	explain fluentd vcore=450                      the same with the full explanation
//	accept fluentd vcore=450 victims=web-1         the same for victims that are given
//
// Quota, floor, budget and conflict hold until the next node. What config does
// not name has its default; the default of trigger= is a required node. A
// reservation without an age is an hour old; age= is the age of a candidate. With
// the flag -update the output is written into the texts.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	assert.NilError(t, err)
	assert.Assert(t, len(files) > 0)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			assert.NilError(t, err)
			came, err := play(string(text))
			assert.NilError(t, err)
			golden.Assert(t, came, filepath.Base(file))
		})
	}
}

const dashes = "----"

// play carries out the steps of a text and returns it with the output.
func play(text string) (string, error) {
	s := situation{cfg: DefaultConfig(), node: Node{Kinds: &resources.Kinds{}}}
	var out strings.Builder
	for number, step := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		commands, _, ok := strings.Cut(step, "\n"+dashes)
		if !ok {
			return out.String(), fmt.Errorf("step %d has no %s", number+1, dashes)
		}
		if number > 0 {
			out.WriteString("\n")
		}
		out.WriteString(commands + "\n" + dashes + "\n")
		for line := range strings.SplitSeq(commands, "\n") {
			result, err := s.carryOut(line)
			if err != nil {
				return out.String(), fmt.Errorf("step %d: %q: %w", number+1, line, err)
			}
			out.WriteString(result)
		}
	}
	return out.String(), nil
}

func (s *situation) carryOut(line string) (string, error) {
	a := &arguments{kinds: s.node.Kinds, node: &s.node, words: strings.Fields(line)}
	switch {
	case strings.HasPrefix(line, "#"):
		return "", nil
	case strings.HasPrefix(line, " "):
		s.node.On = append(s.node.On, a.candidate())
		return "", a.finish()
	case a.flag("config"):
		return s.config(a), a.finish()
	case a.flag("node"):
		s.node = Node{Kinds: s.node.Kinds, Free: a.amounts()}
		return "", a.finish()
	case a.flag("quota"):
		s.node.Quota = a.amounts()
		return "", a.finish()
	case a.flag("floor"):
		s.node.Floors = append(s.node.Floors, Floor{Queue: a.name(), Surplus: a.limits()})
		return "", a.finish()
	case a.flag("budget"):
		s.node.Budgets = append(s.node.Budgets, Budget{Name: a.name(), Allowed: int(a.number("allowed", 0))})
		return "", a.finish()
	case a.flag("conflict"):
		keys := strings.Split(a.name(), ",")
		s.node.Fits = func(removed []string) error { return conflictWith(*s, keys...)(removed) }
		return "", a.finish()
	case a.flag("plan"):
		s.ask = a.ask()
		return summary(s.plan(), s.node.Kinds), a.finish()
	case a.flag("accept"):
		victims := a.list("victims")
		s.ask = a.ask()
		var pl Planner
		return summary(pl.Accept(s.cfg, s.ask, s.node, victims), s.node.Kinds), a.finish()
	case a.flag("explain"):
		s.ask = a.ask()
		return s.plan().Explain(s.node.Kinds) + "\n", a.finish()
	default:
		return "", fmt.Errorf("no such verb")
	}
}

// summary is the decision in short.
func summary(d Decision, kinds *resources.Kinds) string {
	var out strings.Builder
	fmt.Fprintln(&out, d.Summary(kinds))
	for _, f := range d.Failures {
		fmt.Fprintln(&out, "  tried", f)
	}
	if d.Reason == Chosen && !d.Given {
		fmt.Fprintln(&out, "  strategy", d.Strategy)
	}
	for _, v := range d.Victims {
		fmt.Fprintln(&out, "  release", v)
	}
	return out.String()
}

// config starts from the defaults. It prints what is wrong, if anything is, and
// then does not change the configuration.
func (s *situation) config(a *arguments) string {
	c := DefaultConfig()
	if text := a.text("strategies"); text != "" {
		list, err := ParseStrategies(text)
		if err != nil {
			return err.Error() + "\n"
		}
		c.Strategies = list
	}
	c.StartDelay = a.duration("delay", c.StartDelay)
	c.DeviationMax = a.number("deviation", c.DeviationMax)
	c.VictimsMax = int(a.number("victims", int64(c.VictimsMax)))
	c.StepsMax = a.number("steps", c.StepsMax)
	c.Disabled, c.SpareForeign = a.flag("disabled"), a.flag("spare-foreign")
	c.EqualsToo, c.ByQoS = a.flag("equals-too"), a.flag("by-qos")
	c.Budgets = map[string]BudgetPolicy{"strict": StrictPriority, "hard": HardBudgets}[a.text("budgets")]
	if err := c.Validate(); err != nil {
		return err.Error() + "\n"
	}
	s.cfg = c
	return ""
}

// arguments are the words of a command. Reading one removes it; one that is left
// over is an error.
type arguments struct {
	kinds *resources.Kinds
	node  *Node
	words []string
	err   error
}

func (a *arguments) ask() Ask {
	ask := Ask{Key: a.name(), Priority: int32(a.number("priority", 0))}
	if name := a.text("trigger"); name != "" {
		for ask.Trigger < Triggers && ask.Trigger.String() != name {
			ask.Trigger++
		}
		if ask.Trigger == Triggers {
			a.fail(fmt.Errorf("there is no trigger %s", name))
			ask.Trigger = RequiredNode
		}
	}
	ask.Reserved = epoch.Add(-a.duration("reserved", time.Hour))
	ask.Amounts = a.amounts()
	return ask
}

func (a *arguments) candidate() Candidate {
	c := Candidate{
		Key: a.name(), Priority: int32(a.number("priority", 0)),
		Created:  epoch.Add(-a.duration("age", time.Hour)),
		Required: a.flag("required"), Foreign: a.flag("foreign"), Static: a.flag("static"), Owner: a.flag("owner"),
		OptedOut: a.flag("opted-out"), Protected: a.flag("protected"), Releasing: a.flag("releasing"), Overdue: a.flag("overdue"),
	}
	c.Elsewhere, c.Outside, c.SameQueue = a.flag("elsewhere"), a.flag("outside"), a.flag("same-queue")
	c.QoS = QoS(a.number("qos", 0))
	for _, queue := range a.list("floors") {
		c.Floors = append(c.Floors, a.index(queue, len(a.node.Floors), func(i int) string { return a.node.Floors[i].Queue }))
	}
	for _, name := range a.list("budgets") {
		c.Budgets = append(c.Budgets, a.index(name, len(a.node.Budgets), func(i int) string { return a.node.Budgets[i].Name }))
	}
	c.Amounts = a.amounts()
	return c
}

// index is the place of a name among n that were given before.
func (a *arguments) index(name string, n int, of func(int) string) int32 {
	for i := range n {
		if of(i) == name {
			return int32(i)
		}
	}
	a.fail(fmt.Errorf("there is no %s yet", name))
	return 0
}

func (a *arguments) list(key string) []string {
	text := a.text(key)
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// limits takes quantities; zero is a limit.
func (a *arguments) limits() resources.Limits {
	var limits resources.Limits
	for _, name := range kindNames {
		if quantity := a.number(name, -1); quantity >= 0 {
			kind, err := a.kinds.Intern(name)
			a.fail(err)
			limits.Set(kind, quantity)
		}
	}
	return limits
}

func (a *arguments) take(is func(string) bool) (string, bool) {
	for i, word := range a.words {
		if is(word) {
			a.words = append(a.words[:i:i], a.words[i+1:]...)
			return word, true
		}
	}
	return "", false
}

func (a *arguments) name() string {
	word, _ := a.take(func(w string) bool { return !strings.Contains(w, "=") })
	return word
}

func (a *arguments) flag(name string) bool {
	_, ok := a.take(func(w string) bool { return w == name })
	return ok
}

func (a *arguments) text(key string) string {
	word, _ := a.take(func(w string) bool { return strings.HasPrefix(w, key+"=") })
	return strings.TrimPrefix(word, key+"=")
}

func (a *arguments) number(key string, otherwise int64) int64 {
	text := a.text(key)
	if text == "" {
		return otherwise
	}
	v, err := strconv.ParseInt(text, 10, 64)
	a.fail(err)
	return v
}

func (a *arguments) duration(key string, otherwise time.Duration) time.Duration {
	text := a.text(key)
	if text == "" {
		return otherwise
	}
	v, err := time.ParseDuration(text)
	a.fail(err)
	return v
}

// amounts takes the quantities. Few kinds are known, so a misspelt argument is
// not taken for a kind.
func (a *arguments) amounts() resources.Amounts {
	var amounts resources.Amounts
	for _, name := range kindNames {
		if quantity := a.number(name, 0); quantity != 0 {
			kind, err := a.kinds.Intern(name)
			a.fail(err)
			amounts.Set(kind, quantity)
		}
	}
	return amounts
}

func (a *arguments) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *arguments) finish() error {
	if a.err == nil && len(a.words) > 0 {
		return fmt.Errorf("nothing reads %q", a.words)
	}
	return a.err
}

// TestScenariosReadEverything misspells words that must not be ignored.
func TestScenariosReadEverything(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"node\n  web ages=5m\n----\n", `step 1: "  web ages=5m": nothing reads ["ages=5m"]`},
		{"node\n  web drivr\n----\n", `step 1: "  web drivr": nothing reads ["drivr"]`},
		{"plan x vcore=y\n----\n", `step 1: "plan x vcore=y": strconv.ParseInt: parsing "y": invalid syntax`},
		{"config delay=1\n----\n", `step 1: "config delay=1": time: missing unit in duration "1"`},
		{"plan x trigger=y\n----\n", `step 1: "plan x trigger=y": there is no trigger y`},
		{"node\n  web floors=z\n----\n", `step 1: "  web floors=z": there is no z yet`},
		{"nod\n----\n", `step 1: "nod": no such verb`},
		{"node\n----\n\nnode\n", `step 2 has no ----`},
	} {
		_, err := play(c.text)
		assert.Error(t, err, c.want)
	}
}
