package core_test

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// foreign has some pods be of another scheduler, and an ask require a node where one runs. It comes
// after everything else, so that the other worlds are as they were.
func (m *tortureMaker) foreign() {
	var nodes []string
	for i := range m.w.Pods {
		p := &m.w.Pods[i]
		if p.Node == "" || p.Foreign != core.Own || p.Required || p.Group != "" || p.Quorum != "" || !m.chance(50) {
			continue
		}
		p.Foreign, p.Queue, p.User, p.Owner = core.Foreign, "", "", false
		nodes = append(nodes, p.Node)
		for j := range m.w.Budgets {
			b := &m.w.Budgets[j]
			b.Members = slices.DeleteFunc(b.Members, func(key string) bool { return key == p.Key })
		}
	}
	m.w.clean()
	for i := range m.w.Pods {
		p := &m.w.Pods[i]
		if len(nodes) > 0 && p.Node == "" && p.Group == "" && p.Quorum == "" && m.chance(60) {
			p.Requires = nodes[m.IntN(len(nodes))]
		}
	}
	m.w.KeepsForeign = m.chance(20)
}

// endable reports whether a pod of another scheduler may be a victim of an ask.
func (o *tortureOracle) endable(p *torturePlace, v *torturePod) bool {
	return v.Foreign == core.Foreign && p.trigger == preemptor.RequiredNode && !o.w.KeepsForeign
}

// TestTortureForeign sees that pods of other schedulers are victims, and are spared where the
// resource manager does not end them: otherwise worlds would show nothing of them.
func TestTortureForeign(t *testing.T) {
	came := map[string]int{}
	for seed := range uint64(2500) {
		w := newTortureWorld(seed)
		others := slices.ContainsFunc(w.Pods, func(p torturePod) bool { return p.Foreign == core.Foreign })
		required := slices.ContainsFunc(w.Pods, func(p torturePod) bool { return p.Requires != "" })
		if !others || !required {
			continue
		}
		g, _ := playTorture(w, nil)
		assert.Equal(t, len(g.broken), 0, "seed %d", seed)
		victims := map[bool]int{}
		for _, e := range g.evictions {
			victims[g.w.pod(e.Victim).Foreign == core.Foreign]++
		}
		came["a victim"] += count(victims[true] > 0)
		came["a victim beside own ones"] += count(victims[true] > 0 && victims[false] > 0)
		came["spared, and own ones are victims"] += count(w.KeepsForeign && victims[false] > 0)
		came["spared, and an ask waits"] += count(w.KeepsForeign && len(g.waits) > 0)
	}
	t.Log(came)
	for _, what := range []string{"a victim", "a victim beside own ones", "spared, and own ones are victims", "spared, and an ask waits"} {
		assert.Assert(t, came[what] >= 10, "%s: %v", what, came)
	}
}
