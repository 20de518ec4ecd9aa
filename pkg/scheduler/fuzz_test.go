package scheduler_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// dice picks from lists by the bytes of an input; when they are used up it picks
// the first of each.
type dice []byte

func (d *dice) next() byte {
	if len(*d) == 0 {
		return 0
	}
	b := (*d)[0]
	*d = (*d)[1:]
	return b
}

func pick[T any](d *dice, from ...T) T { return from[int(d.next())%len(from)] }

var long = strings.Repeat("x", 1025)

func (d *dice) key() string         { return pick(d, "a", "b", "c", "", long) }
func (d *dice) nodeID() string      { return pick(d, "", "n1", "n2", "n3", long) }
func (d *dice) application() string { return pick(d, "app-1", "app-2", "", "never seen", long) }
func (d *dice) partition() string {
	return pick(d, "", "", "default", "[rm]default", "nowhere", "[other]default", "[")
}

func (d *dice) resource() *si.Resource {
	quantities := func(name string, value int64) *si.Resource {
		return &si.Resource{Resources: map[string]*si.Quantity{name: {Value: value}}}
	}
	return pick(d,
		quantities("vcore", 1000), quantities("vcore", 3000), quantities("memory", 1), quantities("vcore", 0),
		quantities("vcore", -1), quantities("vcore", math.MaxInt64), quantities("vcore", math.MinInt64), quantities("", 1),
		nil, &si.Resource{}, &si.Resource{Resources: map[string]*si.Quantity{"vcore": nil}},
	)
}

func (d *dice) tags() map[string]string {
	return pick(d, nil, nil,
		map[string]string{"foreign": "default"}, map[string]string{"foreign": "static"}, map[string]string{"foreign": ""},
		map[string]string{"creationTime": "12"}, map[string]string{"creationTime": "never"},
		map[string]string{"yunikorn.apache.org/requiredNode": "n1"}, map[string]string{"yunikorn.apache.org/requiredNode": long},
		map[string]string{"application.create.force": "true"},
	)
}

func (d *dice) allocation() *si.Allocation {
	if d.next()%16 == 15 {
		return nil
	}
	return &si.Allocation{
		AllocationKey: d.key(), ApplicationID: d.application(), PartitionName: d.partition(), NodeID: d.nodeID(),
		ResourcePerAlloc: d.resource(), AllocationTags: d.tags(), Priority: int32(d.next()) << 24,
		Placeholder: pick(d, false, false, true), TaskGroupName: pick(d, "", "group", long),
		PreemptionPolicy: pick(d, nil, &si.PreemptionPolicy{AllowPreemptSelf: true}),
	}
}

func (d *dice) release() *si.AllocationRelease {
	if d.next()%16 == 15 {
		return nil
	}
	return &si.AllocationRelease{
		AllocationKey: d.key(), ApplicationID: pick(d, "", "app-1", "app-2", "never seen", long), PartitionName: d.partition(),
		TerminationType: si.TerminationType(int32(d.next()) - 1),
	}
}

func (d *dice) addition() *si.AddApplicationRequest {
	if d.next()%16 == 15 {
		return nil
	}
	return &si.AddApplicationRequest{
		ApplicationID: d.application(), PartitionName: d.partition(), Tags: d.tags(),
		QueueName: pick(d, "root.default", "", "root", "ROOT.default", "nowhere", "..", long),
		Ugi:       pick(d, &si.UserGroupInformation{User: "u"}, nil, &si.UserGroupInformation{Groups: []string{""}}),
	}
}

func (d *dice) removal() *si.RemoveApplicationRequest {
	if d.next()%16 == 15 {
		return nil
	}
	return &si.RemoveApplicationRequest{ApplicationID: d.application(), PartitionName: d.partition()}
}

func (d *dice) node() *si.NodeInfo {
	if d.next()%16 == 15 {
		return nil
	}
	return &si.NodeInfo{
		NodeID: pick(d, "n1", "n2", "n3", "", long), SchedulableResource: d.resource(),
		Action:     si.NodeInfo_ActionFromRM(int32(d.next()%10) - 1),
		Attributes: pick(d, nil, map[string]string{"si/node-partition": d.partition()}, map[string]string{"": ""}),
	}
}

// A heard is the answers to one entry.
type heard struct {
	accepted, rejected, placed int
}

func listen(calls []schedulertest.Call) (h heard) {
	for _, call := range calls {
		switch m := call.Message.(type) {
		case *si.AllocationResponse:
			h.placed += len(m.New)
			h.rejected += len(m.RejectedAllocations)
		case *si.ApplicationResponse:
			h.accepted += len(m.Accepted)
			h.rejected += len(m.Rejected)
		case *si.NodeResponse:
			h.accepted += len(m.Accepted)
			h.rejected += len(m.Rejected)
		}
	}
	return h
}

// knows reports whether a partition has an ask or allocation.
func knows(view *api.View, key string) bool {
	has := func(all []*api.Allocation) bool {
		for _, a := range all {
			if string(a.Key) == key {
				return true
			}
		}
		return false
	}
	for _, n := range view.Nodes {
		if has(n.Allocations) || has(n.ForeignAllocations) {
			return true
		}
	}
	for _, a := range view.Applications {
		for _, ask := range a.Asks {
			if string(ask.Key) == key {
				return true
			}
		}
	}
	return has(view.ForeignUnknownNode)
}

// Whatever is sent, nothing panics, the books agree, and every entry is either
// carried out or answered with a refusal, exactly once.
func FuzzRequests(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x03\x00\x00\x00\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00"))
	f.Add([]byte(strings.Repeat("nodes, applications, allocations", 10)))
	f.Fuzz(requests)
}

// The same with inputs from a generator, so that every run of the tests walks
// through some thousand requests.
func TestRandomRequests(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		input := make([]byte, random.IntN(600))
		for i := range input {
			input[i] = byte(random.Uint32())
		}
		requests(t, input)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func requests(t *testing.T, input []byte) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("n1", "vcore=4")
		m.AddApplication("app-1", "root.default")
		d := dice(input[:min(len(input), 600)])
		for len(d) > 0 {
			step(t, m, &d)
		}
	})
}

// step sends a request with one entry and looks at what comes of it.
func step(t *testing.T, m *schedulertest.MockScheduler, d *dice) {
	t.Helper()
	before := len(m.Calls())
	answers := func(err error) heard {
		t.Helper()
		assert.NilError(t, err)
		m.Settle()
		return listen(m.Calls()[before:])
	}
	switch d.next() % 6 {
	case 0:
		a := d.allocation()
		h := answers(m.Send(a))
		if a == nil {
			assert.Equal(t, h.rejected, 1)
			return
		}
		assert.Assert(t, h.rejected <= 1)
		assert.Assert(t, h.rejected == 1 || knows(m.Look(), a.AllocationKey), "neither known nor refused: %v", a)
	case 1:
		request := &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{d.release()}}
		assert.Equal(t, answers(m.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Releases: request})).rejected, 0)
	case 2:
		h := answers(m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{d.addition()}}))
		assert.Equal(t, h.accepted+h.rejected, 1)
	case 3:
		h := answers(m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", Remove: []*si.RemoveApplicationRequest{d.removal()}}))
		assert.Equal(t, h.accepted+h.rejected, 0)
	case 4:
		n := d.node()
		h := answers(m.UpdateNodeOf(n))
		switch n.GetAction() {
		case si.NodeInfo_CREATE, si.NodeInfo_CREATE_DRAIN:
			assert.Equal(t, h.accepted+h.rejected, 1)
		default:
			assert.Equal(t, h.accepted, 0)
			assert.Assert(t, h.rejected <= 1)
		}
	case 5:
		m.Advance(time.Duration(d.next()) * time.Second)
	}
}
