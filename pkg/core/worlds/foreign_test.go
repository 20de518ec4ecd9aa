package worlds

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// foreign has some pods be of another scheduler, and an ask require a node where one runs. It comes
// after everything else, so that the other worlds are as they were.
func (m *maker) foreign() {
	var nodes []string
	for i := range m.w.Pods {
		p := &m.w.Pods[i]
		if p.Node == "" || p.Foreign != api.Own || p.Required || p.Group != "" || p.Quorum != "" || !m.chance(50) {
			continue
		}
		p.Foreign, p.Queue, p.User, p.Owner = api.Foreign, "", "", false
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
func (o *oracle) endable(p *place, v *pod) bool {
	return v.Foreign == api.Foreign && p.trigger == preemptor.RequiredNode && !o.w.KeepsForeign
}
