package events_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// books are what a reader of the records knows, and nothing else.
type books struct {
	runs   map[string]string // node and allocation to amounts
	serves map[string]string // application and allocation to amounts
	asks   map[string]string // application and ask to amounts
	apps   map[string]string // application to queue
	groups map[string]string // application to the group that it counts for
	limits map[string]string // user or group and queue to what it may have
	nodes  map[string]bool
	queues map[string]bool
}

func newBooks() *books {
	return &books{
		runs: map[string]string{}, serves: map[string]string{}, asks: map[string]string{}, apps: map[string]string{},
		groups: map[string]string{}, limits: map[string]string{},
		nodes: map[string]bool{}, queues: map[string]bool{},
	}
}

// read books a record; it fails if the record makes no sense after those before.
func (b *books) read(r *si.EventRecord) error {
	adds := r.EventChangeType == si.EventRecord_ADD
	key := r.ObjectID + " " + r.ReferenceID
	switch d := r.EventChangeDetail; {
	case d == si.EventRecord_NODE_ALLOC:
		return b.put(b.runs, key, quantities(r.Resource), adds)
	case d == si.EventRecord_APP_ALLOC:
		delete(b.asks, key)
		return b.put(b.serves, key, quantities(r.Resource), true)
	case d >= si.EventRecord_ALLOC_CANCEL && d <= si.EventRecord_ALLOC_NODEREMOVED && r.Type == si.EventRecord_APP:
		return b.put(b.serves, key, quantities(r.Resource), false)
	case d == si.EventRecord_APP_REQUEST, d == si.EventRecord_REQUEST_CANCEL, d == si.EventRecord_REQUEST_TIMEOUT:
		return b.put(b.asks, key, quantities(r.Resource), adds)
	case d == si.EventRecord_UG_APP_LINK:
		return b.put(b.groups, r.ReferenceID, r.ObjectID, r.EventChangeType == si.EventRecord_SET)
	case r.Type == si.EventRecord_USERGROUP:
		key := fmt.Sprintf("%s %s", d, key)
		if r.EventChangeType == si.EventRecord_SET {
			now, before, changed := strings.Cut(r.Message, "before: ")
			if _, known := b.limits[key]; known != changed {
				return fmt.Errorf("known before is %t, said is %q: %s", known, before, line(r))
			}
			b.limits[key] = quantities(r.Resource) + strings.TrimSuffix(now, "; ")
			return nil
		}
		return b.put(b.limits, key, "", false)
	case d == si.EventRecord_QUEUE_APP:
		return b.put(b.apps, r.ReferenceID, r.ObjectID, adds)
	case r.Type == si.EventRecord_QUEUE && d == si.EventRecord_DETAILS_NONE:
		if b.queues[r.ObjectID] == adds {
			return fmt.Errorf("there already: %s", line(r))
		}
		b.queues[r.ObjectID] = adds
	case r.Type == si.EventRecord_NODE && d == si.EventRecord_DETAILS_NONE && adds:
		b.nodes[r.ObjectID] = true
	case d == si.EventRecord_NODE_DECOMISSION:
		delete(b.nodes, r.ObjectID)
	}
	return nil
}

// resized takes over other amounts, of which there are no records.
func (b *books) resized(event api.Event, kinds *resources.Kinds) {
	switch e := event.(type) {
	case *api.Resized:
		amounts := quantities(messages.ResourceOf(kinds, e.Amounts))
		b.runs[string(e.Node)+" "+string(e.Key)], b.serves[string(e.Application)+" "+string(e.Key)] = amounts, amounts
	case api.AskResized:
		b.asks[string(e.Application)+" "+string(e.Key)] = quantities(messages.ResourceOf(kinds, e.Amounts))
	}
}

func (b *books) put(into map[string]string, key, value string, adds bool) error {
	if _, known := into[key]; known == adds {
		return fmt.Errorf("%s is there: %t, and to be added: %t", key, known, adds)
	}
	if adds {
		into[key] = value
	} else {
		delete(into, key)
	}
	return nil
}

func quantities(r *si.Resource) string { return line(&si.EventRecord{Resource: r}) }

// seen are the same books, made of a view.
func seen(view *api.View, kinds *resources.Kinds) *books {
	b := newBooks()
	for _, n := range view.Nodes {
		b.nodes[string(n.ID)] = true
		for _, a := range append(slices.Clone(n.Allocations), n.ForeignAllocations...) {
			amounts := quantities(messages.ResourceOf(kinds, a.Amounts))
			b.runs[string(n.ID)+" "+string(a.Key)] = amounts
			if !a.IsForeign() {
				b.serves[string(a.Application)+" "+string(a.Key)] = amounts
			}
		}
	}
	for _, app := range view.Applications {
		b.apps[string(app.ID)] = string(app.Queue)
		if app.Group != "" {
			b.groups[string(app.ID)] = app.Group
		}
		for _, ask := range app.Asks {
			b.asks[string(app.ID)+" "+string(ask.Key)] = quantities(messages.ResourceOf(kinds, ask.Amounts))
		}
	}
	b.limited("", &view.Config.Root, kinds)
	return b
}

// limited books the limits of a queue and those below.
func (b *books) limited(above string, q *api.QueueConfig, kinds *resources.Kinds) {
	for owner, limit := range api.LimitsByOwner(q.Limits) {
		detail, message := si.EventRecord_UG_USER_LIMIT, ""
		if owner.Group {
			detail = si.EventRecord_UG_GROUP_LIMIT
		}
		if limit.ApplicationsMax > 0 {
			message = fmt.Sprintf("applications: %d", limit.ApplicationsMax)
		}
		amounts := resources.Amounts{}
		for i, most := range limit.Max {
			amounts.Set(resources.Kind(i), most)
		}
		b.limits[fmt.Sprintf("%s %s %s", detail, owner.Name, above+q.Name)] = quantities(messages.ResourceOf(kinds, amounts)) + message
	}
	for i := range q.Queues {
		b.limited(above+q.Name+".", &q.Queues[i], kinds)
	}
}
