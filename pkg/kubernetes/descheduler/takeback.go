package descheduler

import (
	"context"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// takeBack has evict plugins take back what a policy before has asked of them, by this process or an earlier one, and this one
// does not ask any more, and what was asked for too long ago. What fails is tried again before the next cycle. It is called before the controllers of the policy run.
func (d *Descheduler) takeBack(ctx context.Context, set *profiles) {
	if d.options.DryRun {
		return
	}
	for _, p := range set.list {
		x, ok := p.evict.(framework.Expirer)
		if !ok {
			continue
		}
		if err := d.guarded(p.name, p.evict.Name(), func() error { return x.Expire(ctx) }); err != nil && ctx.Err() == nil {
			(&handle{d: d, set: set, profile: p, plugin: p.evict.Name()}).Warn("what was asked for long ago cannot be taken back: " + err.Error())
		}
	}
	if set.tookBack {
		return
	}
	set.tookBack = true
	for _, name := range d.registry.Names() {
		definition, _ := d.registry.Find(name)
		if definition.TakeBack == nil {
			continue
		}
		h := &handle{d: d, set: set, profile: new(profile), plugin: name}
		err := d.guarded("", name, func() error {
			return definition.TakeBack(ctx, h, func(by framework.Asker) bool { return d.stands(set.policy, name, by) })
		})
		if err != nil && ctx.Err() == nil {
			set.tookBack = false
			h.Warn("what an earlier policy has asked for cannot be taken back: " + err.Error())
		}
	}
}

// stands says whether a policy still has what asked an evict plugin for an eviction. Of a plugin that is not known nothing can
// be said.
func (d *Descheduler) stands(p *policy.Policy, evict string, by framework.Asker) bool {
	_, known := d.registry.Find(by.Plugin)
	return slices.ContainsFunc(p.Profiles, func(of policy.Profile) bool {
		at := func(point framework.Point) bool { return slices.Contains(of.Plugins[point], evict) }
		return (by.Profile == "" || by.Profile == of.Name) && (at(framework.Evict) || at(framework.Controller)) &&
			(!known || slices.Contains(of.Enabled(), by.Plugin))
	})
}
