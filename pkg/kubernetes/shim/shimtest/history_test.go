package shimtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unicode"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/shrink"
)

// A historyStep is one thing that happens to a cluster: a verb and numbers that say to what.
// A step that has no meaning at its moment does nothing, so steps can be taken out of a
// history.
type historyStep struct {
	verb    string
	a, b, c int
}

func (s historyStep) String() string { return fmt.Sprintf("{%q, %d, %d, %d},", s.verb, s.a, s.b, s.c) }

// historyVerbs are what can happen, and how often each happens.
var historyVerbs = []struct {
	name   string
	weight int
	do     func(w *historyWorld, s historyStep)
}{
	{"add node", 6, (*historyWorld).addNode},
	{"remove node", 2, (*historyWorld).removeNode},
	{"cordon", 2, (*historyWorld).cordon},
	{"taint", 2, (*historyWorld).taint},
	{"resize node", 2, (*historyWorld).resizeNode},
	{"add pod", 30, (*historyWorld).addPod},
	{"delete pod", 5, (*historyWorld).deletePod},
	{"end pod", 4, (*historyWorld).endPod},
	{"finish pod", 3, (*historyWorld).finishPod},
	{"resize pod", 3, (*historyWorld).resizePod},
	{"put off resize", 4, (*historyWorld).putOffResize},
	{"ungate pod", 3, (*historyWorld).ungatePod},
	{"label pod", 2, (*historyWorld).labelPod},
	{"recreate pod", 3, (*historyWorld).recreatePod},
	{"bind pod", 4, (*historyWorld).bindPod},
	{"kubelet", 5, (*historyWorld).kubelet},
	{"add member", 12, (*historyWorld).addMember},
	{"pod group", 4, (*historyWorld).podGroup},
	{"placeholder", 4, (*historyWorld).placeholder},
	{"budget", 3, (*historyWorld).budget},
	{"class", 1, (*historyWorld).class},
	{"namespace", 2, (*historyWorld).namespace},
	{"configure", 4, (*historyWorld).configure},
	{"faults", 8, (*historyWorld).faults},
	{"wait", 10, (*historyWorld).wait},
	{"restart", 3, (*historyWorld).restart},
}

// newHistory is the history of a seed.
func newHistory(seed uint64, length int) []historyStep {
	random := rand.New(rand.NewPCG(seed, 12))
	var verbs []string
	for _, v := range historyVerbs {
		verbs = append(verbs, slices.Repeat([]string{v.name}, v.weight)...)
	}
	steps := []historyStep{{"add node", 0, random.IntN(4), 0}}
	for range length {
		steps = append(steps, historyStep{verbs[random.IntN(len(verbs))], random.IntN(9), random.IntN(16), random.IntN(1 << 10)})
	}
	return steps
}

// playHistory plays a history and says which law was broken, or nothing.
func playHistory(t *testing.T, genuine bool, steps []historyStep) (broken string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tb := &probe{TB: t}
		defer tb.end()
		defer func() {
			if p := recover(); p != nil {
				failed, ok := p.(probeFailed)
				if !ok {
					panic(p)
				}
				broken = string(failed)
			}
		}()
		w := newHistoryWorld(tb, genuine)
		for i, s := range steps {
			w.play(s)
			if s.c%4 == 0 && i+1 < len(steps) {
				continue // the next step comes at the same moment
			}
			w.m.Settle()
			w.checkBooks()
			w.mu.Lock()
			w.step++
			w.mu.Unlock()
		}
		w.quiet()
	})
	return broken
}

// A probe is a test whose failure is an answer.
type probe struct {
	testing.TB
	cleanups []func()
}

type probeFailed string

func (p *probe) Helper()                      {}
func (p *probe) Fatalf(text string, a ...any) { panic(probeFailed(fmt.Sprintf(text, a...))) }
func (p *probe) Cleanup(f func())             { p.cleanups = append(p.cleanups, f) }

func (p *probe) end() {
	for _, f := range slices.Backward(p.cleanups) {
		f()
	}
}

// shrinkHistory takes out steps as long as something is broken.
func shrinkHistory(t *testing.T, genuine bool, steps []historyStep) []historyStep {
	t.Helper()
	broken := playHistory(t, genuine, steps)
	return shrink.Least(steps, func(rest []historyStep) bool { return sameBreach(playHistory(t, genuine, rest), broken) })
}

// sameBreach reports whether two broken laws are the same but for names and numbers.
func sameBreach(a, b string) bool {
	kind := func(text string) string {
		line, _, _ := strings.Cut(text, "\n")
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return -1
			}
			return r
		}, line)
	}
	return a != "" && kind(a) == kind(b)
}

// Whatever happens in a cluster, the books of the core are those of the API server. More
// histories are played with NARWHAL_HISTORIES="SEED COUNT".
func TestHistories(t *testing.T) {
	seed, count := uint64(1), seeds.Part(t, 200)
	if first, _, torture := seeds.Torture(t); torture {
		seed = first
	}
	if text := os.Getenv("NARWHAL_HISTORIES"); text != "" {
		if _, err := fmt.Sscan(text, &seed, &count); err != nil {
			t.Fatalf("NARWHAL_HISTORIES=%s: %v", text, err)
		}
	}
	for i := range uint64(count) {
		seed := seed + i
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			steps, genuine := newHistory(seed, 40), seed%8 == 0
			broken := playHistory(t, genuine, steps)
			if broken == "" {
				return
			}
			steps = shrinkHistory(t, genuine, steps)
			var text strings.Builder
			for _, s := range steps {
				text.WriteString("\n\t" + s.String())
			}
			t.Errorf("filters of kube-scheduler: %t: %s\nshortest: %s%s", genuine, broken, playHistory(t, genuine, steps), text.String())
		})
	}
}

// Histories in which a law was broken once.
func TestHistoriesThatFailed(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []historyStep
	}{
		{"the namespace of a running pod goes before the pod", []historyStep{
			{"add node", 0, 1, 1},
			{"namespace", 0, 1, 1},
			{"add pod", 3, 4, 1},
			{"namespace", 0, 0, 1},
			{"label pod", 3, 1, 1},
		}},
		{"a pod comes after its application was rejected", []historyStep{
			{"configure", 0, 2, 1},
			{"add pod", 4, 10, 9},
			{"add pod", 5, 12, 9},
		}},
		{"another scheduler binds a pod whose binding was taken back", []historyStep{
			{"add node", 0, 0, 1},
			{"add pod", 2, 11, 109},
			{"add pod", 0, 7, 121},
			{"bind pod", 2, 10, 642},
			{"wait", 0, 10, 1},
		}},
		{"a gang fails of which a pod runs elsewhere and another cannot be bound", []historyStep{
			{"add node", 0, 3, 0},
			{"add member", 4, 12, 606},
			{"faults", 5, 13, 404},
			{"bind pod", 4, 13, 863},
			{"restart", 3, 3, 257},
			{"add pod", 0, 12, 847},
			{"wait", 4, 12, 224},
		}},
		{"the oldest pod of a gang is another one after a restart", []historyStep{
			{"add member", 8, 7, 294},
			{"add pod", 0, 8, 564},
			{"restart", 5, 7, 926},
			{"add node", 2, 8, 311},
		}},
		{"placeholders that could not be bound time out at that moment, and are not deleted", []historyStep{
			{"add node", 3, 15, 101},
			{"faults", 6, 3, 551},
			{"add member", 6, 12, 936},
			{"wait", 1, 13, 380},
		}},
		{"a pod runs whose application is being rejected", []historyStep{
			{"add node", 7, 4, 962},
			{"configure", 0, 6, 935},
			{"add pod", 8, 7, 308},
			{"add pod", 1, 4, 199},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if broken := playHistory(t, false, c.steps); broken != "" {
				t.Error(broken)
			}
		})
	}
}
