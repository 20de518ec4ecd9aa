package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// nearlyFull is the part of a capacity, one in so many, of which less is free on a node that is full, where no
// ask waits for its devices and says how much of it is needed.
const nearlyFull = 20

// An idle is devices of one kind that are free where another kind is full.
type idle struct {
	device, full   resources.Kind
	nodes          []*api.NodeView
	free, capacity int64 // of devices
}

// A wish is what is known of the asks that want devices of a kind.
type wish struct {
	least  resources.Limits // that one of those for nodes wants of each kind
	nodes  harm             // those that quota does not keep away
	quota  harm             // those that it does
	quotas map[quota]int    // that these wait for
}

// devices finds kinds of devices that are idle: on nodes of which another kind is full, or as the asks which want them wait for quota.
func (e *examination) devices() {
	wishes := e.wanted()
	for i, capacity := range e.view.Capacity {
		device := resources.Kind(i)
		if capacity <= 0 || !resources.IsDevice(e.kinds.Name(device)) {
			continue
		}
		w := wishes[device]
		if w != nil && w.nodes.asks == 0 {
			e.idleForQuota(device, w)
			continue
		}
		at := idle{device: device, capacity: capacity}
		var least resources.Limits
		if w != nil {
			least = w.least
		}
		by := map[resources.Kind]int{}
		for _, n := range e.view.Nodes {
			if full, ok := e.fullFor(n, device, least); ok {
				at.nodes, at.free = append(at.nodes, n), at.free+n.Available.Of(device)
				by[full]++
			}
		}
		if len(at.nodes) == 0 {
			continue
		}
		at.full = slices.MaxFunc(slices.Sorted(maps.Keys(by)), func(a, b resources.Kind) int { return cmp.Compare(by[a], by[b]) })
		e.add(e.idleDevices(at, w))
	}
}

// wanted is what asks which wait want of each kind of devices.
func (e *examination) wanted() map[resources.Kind]*wish {
	wishes := map[resources.Kind]*wish{}
	e.eachAsk(e.view.Root, func(a askOf) {
		for i, asked := range a.Amounts {
			device := resources.Kind(i)
			if asked <= 0 || !resources.IsDevice(e.kinds.Name(device)) {
				continue
			}
			w := wishes[device]
			if w == nil {
				w = &wish{quotas: map[quota]int{}}
				wishes[device] = w
			}
			if q, waits := quotaOf(a); waits {
				w.quota.add(a)
				w.quotas[q]++
				continue
			}
			w.nodes.add(a)
			of := w.least.Clone()
			for k := range e.view.Capacity {
				kind := resources.Kind(k)
				of.Set(kind, min(of.Of(kind), a.Amounts.Of(kind)))
			}
			w.least = of
		}
	})
	return wishes
}

// idleForQuota adds the finding about devices which are idle while all asks that want them wait for quota. That may be meant so.
func (e *examination) idleForQuota(device resources.Kind, w *wish) {
	var free, capacity int64
	var nodes []*api.NodeView
	for _, n := range e.view.Nodes {
		capacity += n.Capacity.Of(device)
		if left := n.Available.Of(device); n.Schedulable && left > 0 {
			free, nodes = free+left, append(nodes, n)
		}
	}
	if free == 0 {
		return
	}
	f := Finding{Kind: IdleDevices, Severity: Note, Subject: e.kinds.Name(device), try: tryFirst}
	f.Cause = fmt.Sprintf("%s of %s are idle on %s, such as %s; %s for %s", e.one(device, free), e.one(device, capacity),
		wording.Several(len(nodes), "node"), nodes[0].ID, waiting(w.quota.asks), heldBy(w.quotas))
	w.quota.to(&f)
	e.add(f)
}

// fullFor is the kind that is full on a node with idle devices, if there is one.
func (e *examination) fullFor(n *api.NodeView, device resources.Kind, least resources.Limits) (resources.Kind, bool) {
	if !n.Schedulable || n.Available.Of(device) <= 0 {
		return 0, false
	}
	for i, capacity := range n.Capacity {
		kind, free := resources.Kind(i), n.Available.Of(resources.Kind(i))
		if capacity <= 0 || resources.IsDevice(e.kinds.Name(kind)) {
			continue
		}
		if least == nil && free*nearlyFull < capacity || least != nil && free < least.Of(kind) {
			return kind, true
		}
	}
	return 0, false
}

// idleDevices is the finding about them.
func (e *examination) idleDevices(at idle, w *wish) Finding {
	f := Finding{Kind: IdleDevices, Severity: Note, Subject: e.kinds.Name(at.device)}
	f.Cause = fmt.Sprintf("%s of %s are idle on %s, such as %s, of which %s is full", e.one(at.device, at.free), e.one(at.device, at.capacity),
		wording.Several(len(at.nodes), "node"), at.nodes[0].ID, e.kinds.Name(at.full))
	f.Detail = e.fillers(at)
	if w == nil {
		f.Remedy = "none was tried: no ask waits for it"
		return f
	}
	f.Severity, f.try = Urgent, tryFirst
	w.nodes.to(&f)
	return f
}

// fillers says which queue uses most of what is full there without a device.
func (e *examination) fillers(at idle) string {
	queues := map[api.ApplicationID]api.QueuePath{}
	for _, app := range e.view.Applications {
		queues[app.ID] = app.Queue
	}
	var capacity, others int64
	by := map[api.QueuePath]int64{}
	for _, n := range at.nodes {
		capacity += n.Capacity.Of(at.full)
		others += n.Occupied.Of(at.full)
		for _, a := range n.Allocations {
			if a.Amounts.Of(at.device) == 0 {
				by[queues[a.Application]] += a.Amounts.Of(at.full)
			}
		}
	}
	if len(by) == 0 {
		return ""
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(by)), func(a, b api.QueuePath) int { return cmp.Compare(by[a], by[b]) })
	text := fmt.Sprintf("queue %s uses %s of %s there without any of it", most, e.one(at.full, by[most]), e.one(at.full, capacity))
	if others > by[most] {
		text = fmt.Sprintf("other schedulers use %s of %s there", e.one(at.full, others), e.one(at.full, capacity))
	}
	return text
}
