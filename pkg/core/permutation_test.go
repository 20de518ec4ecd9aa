package core_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// books prints what is booked where, and nothing of how it came to be.
func books(p *core.Partition) string {
	v := p.View()
	var b strings.Builder
	list := func(what string, of []*api.Allocation) {
		for _, a := range sortedAllocations(of) {
			fmt.Fprintf(&b, "  %s %s on %s %v origin %d\n", what, a.Key, a.Node, a.Amounts, a.Origin)
		}
	}
	for _, n := range v.Nodes {
		fmt.Fprintf(&b, "node %s free %v\n", n.ID, n.Available)
		list("own", n.Allocations)
		list("foreign", n.ForeignAllocations)
	}
	list("unknown node", v.ForeignUnknownNode)
	fmt.Fprintf(&b, "used %v pending %v\n", v.Root.Used, v.Root.Pending)
	for _, app := range v.Applications {
		fmt.Fprintf(&b, "application %s in %s of user %s group %q used %v counts %t\n", app.ID, app.Queue, app.User, app.Group, app.Used, app.Counts)
		if app.Gang != nil {
			fmt.Fprintf(&b, "  gang %+v\n", *app.Gang)
		}
		for _, ask := range sortedAsks(app.Asks) {
			fmt.Fprintf(&b, "  ask %s %v %s\n", ask.Key, ask.Amounts, ask.Reason)
		}
	}
	return b.String()
}

// sortedAllocations and sortedAsks are lists of a view by key.
func sortedAllocations(list []*api.Allocation) []*api.Allocation {
	return slices.SortedFunc(slices.Values(list), func(a, b *api.Allocation) int { return cmp.Compare(a.Key, b.Key) })
}

func sortedAsks(list []api.AskView) []api.AskView {
	return slices.SortedFunc(slices.Values(list), func(a, b api.AskView) int { return cmp.Compare(a.Key, b.Key) })
}

// TestForeignInAnyOrder sends nodes and what is known of foreign allocations, some of
// them sent more than once, moved, released, and added again, in any order between
// keys and nodes: the books end the same. Messages about one key come in order, and
// the last one counts.
func TestForeignInAnyOrder(t *testing.T) {
	var sequences [][]api.Command
	for i := range 3 {
		sequences = append(sequences, []api.Command{api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{10, 10}}})
	}
	for i := range 8 {
		key := api.AllocationKey(fmt.Sprint("f", i))
		add := func(node int) api.Command {
			return api.AddAllocation{Allocation: &api.Allocation{
				Key: key, Node: api.NodeID(fmt.Sprint("n", node)), Origin: api.Foreign + api.Origin(i%2), Amounts: resources.Amounts{int64(i + 1), 2},
			}}
		}
		sequence := []api.Command{add(i % 4), add(i % 4)}
		if i%2 == 0 {
			sequence = append(sequence, add((i+1)%4))
		}
		if i%3 == 0 {
			sequence = append(sequence, api.ReleaseAllocation{Key: key}, api.ReleaseAllocation{Application: "any", Key: key})
		}
		if i == 3 {
			sequence = append(sequence, add(2))
		}
		sequences = append(sequences, sequence)
	}
	want := ""
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		left := slices.Clone(sequences)
		p := cluster(0, 1, api.Options{})
		for len(left) > 0 {
			k := r.IntN(len(left))
			m := left[k][0]
			if left[k] = left[k][1:]; len(left[k]) == 0 {
				left = slices.Delete(left, k, k+1)
			}
			p.Apply(start, m)
			assert.NilError(t, p.Verify())
		}
		if want == "" {
			want = books(p)
			t.Log(want)
		}
		assert.Equal(t, books(p), want, "seed %d", seed)
	}
}

// messageSequences are the messages about nodes, applications and allocations. The
// order within a sequence counts. The first sequence comes first.
func messageSequences() (first []api.Command, others [][]api.Command) {
	for i := range 3 {
		first = append(first, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{10, 10}})
	}
	for i := range 2 {
		first = append(first, api.AddApplication{ID: api.ApplicationID(fmt.Sprint("app", i)), Queue: "root.q0000", User: "ann", Groups: []string{fmt.Sprint("g", i)}})
	}
	limited := func(limits ...api.Limit) api.Command {
		return api.Reconfigure{Config: api.Config{
			Name: "default", Rules: []placement.Rule{{Kind: placement.Provided}, {Kind: placement.Tag, Value: "namespace", Create: true}},
			Root: api.QueueConfig{
				Name: "root", Parent: true, Limits: limits, Queues: []api.QueueConfig{{Name: "q0000", Limits: limits, ApplicationsMax: 1}},
			},
		}}
	}
	first = append(first, limited())
	ann := api.Limit{Users: []string{"ann"}, Max: resources.Limits{7}, ApplicationsMax: 1}
	others = append(others,
		[]api.Command{limited(ann), limited(api.Limit{Groups: []string{"g1", "*"}, Max: resources.Limits{3}}), limited(), limited(ann, api.Limit{Groups: []string{"g1"}, Max: resources.Limits{5}})},
		[]api.Command{api.DrainNode{ID: "n0"}, api.DrainNode{ID: "n0"}, api.UndrainNode{ID: "n0"}},
		[]api.Command{api.UpdateNode{ID: "n1", Capacity: resources.Amounts{4, 4}}, api.UpdateNode{ID: "n1", Capacity: resources.Amounts{12, 12}}},
	)
	for i := range 10 {
		app, key := api.ApplicationID(fmt.Sprint("app", i%2)), api.AllocationKey(fmt.Sprint("k", i))
		tell := func(amount int64, node api.NodeID) api.Command {
			return api.AddAllocation{Allocation: &api.Allocation{Key: key, Application: app, Node: node, Amounts: resources.Amounts{amount, 1}}}
		}
		node := api.NodeID("")
		if i%2 == 0 {
			node = api.NodeID(fmt.Sprint("n", i%3))
		}
		sequence := []api.Command{tell(1, node), tell(1, node), tell(int64(1+i%3), node)}
		if i%4 == 1 {
			release := api.ReleaseAllocation{Application: app, Key: key, Termination: 1}
			sequence = append(sequence, release, release)
		}
		others = append(others, sequence)
	}
	return first, append(others, gangSequences()...)
}

// gangSequences are the messages about an application with a gang, which comes first of them, and
// about one that is placed by its namespace.
func gangSequences() [][]api.Command {
	member := func(app api.ApplicationID, key api.AllocationKey, node api.NodeID, group string, placeholder bool) api.Command {
		return api.AddAllocation{Allocation: &api.Allocation{
			Key: key, Application: app, Node: node, Amounts: resources.Amounts{1, 1}, TaskGroup: group, Placeholder: placeholder,
		}}
	}
	placed := member("gang", "h0", "n0", "workers", true)
	waits := member("gang", "h1", "", "workers", true)
	pod := member("gang", "real", "", "workers", false)
	spaced := member("spaced", "s0", "n1", "", false)
	return [][]api.Command{
		{
			api.AddApplication{ID: "gang", Queue: "root.q0000", User: "ann", Groups: []string{"g1"}, Placeholders: resources.Amounts{2}},
			placed, placed, waits, pod, pod,
			api.ReleaseAllocation{Application: "gang", Key: "h1", Termination: si.TerminationType_STOPPED_BY_RM},
		},
		{
			api.AddApplication{ID: "spaced", User: "bob", Groups: []string{"g1"}, Tags: map[string]string{"namespace": "shop"}},
			spaced, spaced, member("spaced", "s1", "", "", false),
		},
	}
}

// TestMessagesInterleave mixes the messages about different things in any way: the
// books end the same.
func TestMessagesInterleave(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	want := ""
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		first, others := messageSequences()
		p := cluster(0, 1, api.Options{})
		for _, m := range first {
			p.Apply(start, m)
		}
		for len(others) > 0 {
			i := r.IntN(len(others))
			p.Apply(start, others[i][0])
			assert.NilError(t, p.Verify())
			if others[i] = others[i][1:]; len(others[i]) == 0 {
				others = slices.Delete(others, i, i+1)
			}
		}
		if want == "" {
			want = books(p)
			t.Log(want)
		}
		assert.Equal(t, books(p), want, "seed %d", seed)
	}
}

// TestHistoriesRepeat runs histories twice, with gangs and rules of placement too: the effects and the
// last view are the same, to the letter.
func TestHistoriesRepeat(t *testing.T) {
	met := map[string]int{}
	for seed := range uint64(160) {
		tell := func() string {
			var b strings.Builder
			h := newMixedHistory(rand.New(rand.NewPCG(seed, 0)), byte(seed))
			for range 160 {
				if fx, is := h.step().(api.Effects); is {
					for _, e := range fx {
						fmt.Fprintln(&b, eventText(e))
					}
				}
			}
			view, err := json.Marshal(h.p.View()) // with what was looked at
			assert.NilError(t, err)
			b.Write(view)
			for _, app := range h.p.View().Applications {
				met["gangs"] += count(app.Gang != nil)
				met["placed by a rule"] += count(app.Queue != "root.a" && !strings.HasPrefix(string(app.Queue), "root.p."))
			}
			return b.String()
		}
		assert.Equal(t, tell(), tell(), "seed %d", seed)
	}
	t.Log(met)
	assert.Assert(t, met["gangs"] > 20 && met["placed by a rule"] > 20)
}

// eventText is an event to the letter, without addresses.
func eventText(e api.Event) string {
	text, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%T%s", e, text)
}

// TestVictimsInAnyOrder adds nodes and what runs on them in any order: the same
// victims are chosen for the same ask.
func TestVictimsInAnyOrder(t *testing.T) {
	victims := 0
	for seed := range uint64(600) {
		want := ""
		for shuffle := range 4 {
			c := rand.New(rand.NewPCG(seed, 5))
			p := core.NewPartition(smallConfig(c, api.Options{}, seed%2 == 0))
			running, ask := smallCluster(c)
			rand.New(rand.NewPCG(seed, uint64(shuffle))).Shuffle(len(running), func(i, j int) { running[i], running[j] = running[j], running[i] })
			actions, _ := actionsOf(startWith(p, running, ask))
			if want == "" {
				want = fmt.Sprint(actions)
			}
			assert.Equal(t, fmt.Sprint(actions), want, "seed %d", seed)
			for _, d := range actions {
				victims += len(d.victims)
			}
		}
	}
	assert.Assert(t, victims > 300, "%d victims", victims)
}

// startWith applies a small cluster and its ask, and schedules.
func startWith(p *core.Partition, running []api.Command, ask api.Command) api.Effects {
	for i, nodes := range []bool{true, false} {
		for _, c := range running {
			if _, is := c.(api.AddAllocation); is != nodes {
				p.Apply(start, c)
			}
		}
		if i == 0 {
			smallApplications(p)
		}
	}
	p.Apply(start, ask)
	fx, _ := p.Schedule(start)
	return fx
}
