package descheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// TestReport: a dry run says where each pod would go.
func TestReport(t *testing.T) {
	one := 1
	w := newWorld(t, newPod("team", "web-0", "a", "web"), newPod("team", "web-1", "a", "web"), newPod("team", "bare", "b", ""))
	w.withRooms(5)
	w.options.DryRun = true
	w.policy.Limits.PerWorkload = &one
	w.objects.Budgets = []*policyv1.PodDisruptionBudget{budget("web", "web", 3)}
	w.plugin("All").filter = func(pod *v1.Pod) error {
		if pod.Name == "bare" {
			return errors.New("nothing makes it anew")
		}
		return nil
	}
	w.policy.Profiles[0].Plugins[framework.Filter] = []string{"All"}
	report, err := w.build().Cycle(t.Context())
	assert.NilError(t, err)
	report.Failures = []Failure{{"p", "Other", "balance", "no luck"}}
	var table bytes.Buffer
	assert.NilError(t, report.Table(&table))
	assert.Equal(t, table.String(), `cycle 1, 3 nodes: 1 pod would be evicted
POD         PLUGIN  REASON  FROM  TO  BUDGET LEFT
team/web-0  p/All   all go  a     b   2
filtered: 1
  1: All: nothing makes it anew
limited: 1
  1: limit of 1 eviction in a cycle reached for workload team/ReplicaSet/web
failure of p/Other at balance: no luck
`)
	var text bytes.Buffer
	assert.NilError(t, report.JSON(&text))
	var again Report
	assert.NilError(t, json.Unmarshal(text.Bytes(), &again))
	assert.DeepEqual(t, &again, report)
	assert.Equal(t, w.d.Why("team", "web-1").String(),
		"team/web-1\ncycle 1, p: considered\ncycle 1, p/All: limited: limit of 1 eviction in a cycle reached for workload team/ReplicaSet/web\n")
	assert.Equal(t, w.d.Why("team", "web-0").String(), "team/web-0\ncycle 1, p/All: evicted from a: all go\ncycle 1, p: considered\n")
	assert.Equal(t, w.d.Why("team", "bare").String(), "team/bare\ncycle 1, p: filtered: All: nothing makes it anew\n")
	assert.Equal(t, w.d.Why("team", "none").String(), "team/none\nno plugin considered it in the last two cycles\n")
}

// another is the landing of a program of one's own.
type another struct{ framework.Landing }

// CheckedBy implements framework.NamedLanding.
func (another) CheckedBy() string { return "dice" }

// TestReportOfAnotherLanding: the report says which node was found by what, that another scheduler may
// take another one, and where there is none. A bare pod needs none.
func TestReportOfAnotherLanding(t *testing.T) {
	play := func(evictAnyway bool) (*Report, string, *world) {
		w := newWorld(t, newPod("team", "web-0", "a", "web"), newPod("team", "big", "a", "big", requesting("2")), newPod("team", "bare", "a", ""))
		for i, cpu := range []string{"4", "1", "1"} {
			w.nodes[i].Status.Allocatable[v1.ResourceCPU] = resource.MustParse(cpu)
		}
		w.nodes[0].Spec.Unschedulable = true
		w.options.DryRun, w.options.EvictWithoutLanding = true, evictAnyway
		core := w.options.Landing
		w.options.Landing = func(s *framework.Snapshot) (framework.Landing, error) {
			places, err := core(s)
			return another{places}, err
		}
		report, err := w.build().Cycle(t.Context())
		assert.NilError(t, err)
		var table bytes.Buffer
		assert.NilError(t, report.Table(&table))
		return report, table.String(), w
	}
	report, table, w := play(false)
	assert.Equal(t, table, `cycle 1, 3 nodes: 2 pods would be evicted
POD         PLUGIN  REASON  FROM  TO  BUDGET LEFT
team/bare   p/All   all go  a     -   -
team/web-0  p/All   all go  a     b   -
TO of 1 pod is where another scheduler may run it
TO was checked by dice and not by the scheduler's core: it is a node where the replacement fits, and the scheduler may take another one
refused: 1
  1: landing: its replacement would run nowhere: no node has room: requests pods=1 vcore=2000
`)
	assert.Equal(t, report.Evictions[0].CheckedBy, "")
	assert.Equal(t, report.Evictions[1].CheckedBy, "dice")
	assert.Equal(t, w.d.Why("team", "big").Decisions[1].Reason,
		"landing: its replacement would run nowhere: no node has room: requests pods=1 vcore=2000")

	report, table, _ = play(true)
	assert.Equal(t, table, `cycle 1, 3 nodes: 3 pods would be evicted
POD         PLUGIN  REASON  FROM  TO       BUDGET LEFT
team/bare   p/All   all go  a     -        -
team/big    p/All   all go  a     nowhere  -
team/web-0  p/All   all go  a     b        -
TO of 1 pod is where another scheduler may run it
TO was checked by dice and not by the scheduler's core: it is a node where the replacement fits, and the scheduler may take another one
`)
	assert.Equal(t, report.Evictions[1].Nowhere, "no node has room: requests pods=1 vcore=2000")
	assert.Equal(t, report.Evictions[1].CheckedBy, "dice")
}

// requesting gives a pod a container with so many processors.
func requesting(cpu string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
	}
}

// TestLandingThatFails: a cycle without what says where pods would run evicts nothing, and the
// next one may.
func TestLandingThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		landing func(*framework.Snapshot) (framework.Landing, error)
		want    string
	}{
		"an error": {func(*framework.Snapshot) (framework.Landing, error) { return nil, errors.New("no core") }, "where pods would run: no core"},
		"nothing":  {func(*framework.Snapshot) (framework.Landing, error) { return nil, nil }, "where pods would run: the landing is nil"},
		"a panic":  {func(*framework.Snapshot) (framework.Landing, error) { panic("core") }, "panic: core"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, podsOf(1, "a", "web")...)
			broken := true
			w.withRooms(5)
			works := w.options.Landing
			w.options.Landing = func(s *framework.Snapshot) (framework.Landing, error) {
				if broken {
					return c.landing(s)
				}
				return works(s)
			}
			report, err := w.build().Cycle(t.Context())
			assert.Error(t, err, c.want)
			assert.Equal(t, report.Skipped, "there is no view of the cluster: "+c.want)
			assert.Equal(t, len(w.evicted), 0)
			broken = false
			assert.DeepEqual(t, w.cycle(), []string{"team/web-a-0"})
		})
	}
}

// TestDryRunIsACycle is D-EV-6 and D-DRY-2: beside what is carried out, a dry run is a cycle like any
// other. Limits, counters and the report are the same, and plugins that come later see that the
// pods are gone which were evicted before.
func TestDryRunIsACycle(t *testing.T) {
	play := func(dry bool) (evictions []Eviction, seen []string, counted map[string]float64, carried int) {
		two := 2
		registry := prometheus.NewRegistry()
		w := newWorld(t, append(podsOf(3, "a", "web"), podsOf(1, "b", "db")...)...)
		w.withRooms(5)
		w.options.DryRun, w.options.Metrics = dry, NewMetrics(registry)
		w.policy.Limits.PerNode = &two
		w.plugins = append(w.plugins, &scripted{name: "Later", deschedule: func(_ context.Context, h framework.Handle, _ []*v1.Node) error {
			for _, p := range h.Snapshot().Pods() {
				seen = append(seen, p.Name)
			}
			return nil
		}})
		w.policy.Profiles = append(w.policy.Profiles, profileOf("q", framework.Deschedule, "Later"))
		report, err := w.build().Cycle(t.Context())
		assert.NilError(t, err)
		counted = counts(t, registry)
		delete(counted, "descheduler_evictions_in_flight{}") // nothing is under way after a dry run
		return report.Evictions, seen, counted, len(w.evicted)
	}
	evictions, seen, counted, carried := play(false)
	dryEvictions, drySeen, dryCounted, dryCarried := play(true)
	assert.DeepEqual(t, dryEvictions, evictions)
	assert.DeepEqual(t, dryCounted, counted)
	assert.DeepEqual(t, seen, []string{"web-a-2"})
	assert.DeepEqual(t, drySeen, seen)
	assert.Equal(t, len(evictions), 3)
	assert.Equal(t, counted["descheduler_pods_evicted_total{namespace=team,node=a,profile=p,result=maximum number of evicted pods per node reached,strategy=All}"], 1.)
	assert.Equal(t, carried, 3)
	assert.Equal(t, dryCarried, 0)
}

// TestDecisionsAreBounded is at ten times the bound: what is not kept is told.
func TestDecisionsAreBounded(t *testing.T) {
	w := newWorld(t, podsOf(1000, "a", "web")...)
	w.options.DecisionsMax = 100
	zero := 0
	w.policy.Limits.PerNode = &zero
	for range 3 {
		w.cycle()
		assert.Equal(t, w.d.decisions.now.size, 100)
		assert.Assert(t, w.d.decisions.before.size <= 100)
	}
	report, err := w.d.Cycle(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, report.Cut, 2000-100) // two decisions for each pod
	assert.Equal(t, w.d.Why("team", "web-a-999").String(), "team/web-a-999\nno plugin considered it in the last two cycles\n3800 decisions were not kept\n")

	d := newDecisions(10)
	for i := range 10_000 {
		d.evicted(Eviction{Pod: fmt.Sprint("team/p", i)})
	}
	assert.Equal(t, len(d.evictions), 1000)
	assert.Equal(t, len(d.why("team", fmt.Sprint("p", 10_000-1)).Evictions), 1)
	var p pending
	for range 100_000 {
		p.add(Eviction{})
	}
	list, cut := p.take()
	assert.Equal(t, len(list)+cut, 100_000)
	assert.Equal(t, len(list), 10_000)
	w = newWorld(t)
	w.build()
	assert.Equal(t, w.d.options.DecisionsMax, 100_000)
}

// TestDeclined: a plugin may say itself why it leaves a pod.
func TestDeclined(t *testing.T) {
	w := newWorld(t, podsOf(1, "a", "web")...)
	w.build()
	e := w.plugin("All").handle.Evictor().(interface {
		Declined(*v1.Pod, framework.EvictOptions, error)
	})
	e.Declined(w.pods[0], framework.EvictOptions{}, errors.New("the node is not full"))
	assert.Equal(t, w.d.Why("team", "web-a-0").String(), "team/web-a-0\ncycle 0, p/All: declined: the node is not full\n")
}

// TestReadOnly: the client of a dry run sends nothing that writes.
func TestReadOnly(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}}`))
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(ReadOnly(&rest.Config{Host: server.URL}))
	assert.NilError(t, err)
	pods := client.CoreV1().Pods("team")
	_, err = pods.Get(t.Context(), "p", metav1.GetOptions{})
	assert.NilError(t, err)
	for _, err := range []error{
		pods.Delete(t.Context(), "p", metav1.DeleteOptions{}),
		pods.EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}}),
		func() error {
			_, err := pods.Update(t.Context(), newPod("team", "p", "", ""), metav1.UpdateOptions{})
			return err
		}(),
		func() error {
			_, err := pods.Patch(t.Context(), "p", "application/merge-patch+json", []byte(`{}`), metav1.PatchOptions{})
			return err
		}(),
	} {
		assert.ErrorIs(t, err, ErrDryRun)
		assert.Assert(t, strings.Contains(err.Error(), "/api/v1/namespaces/team/pods/p"), err.Error())
	}
	assert.DeepEqual(t, sent, []string{"GET"})
}

// TestTenTimesTheEvictionsOfAReport: a report lists some and says how many more there were.
func TestTenTimesTheEvictionsOfAReport(t *testing.T) {
	var p pending
	for range 100_000 {
		p.add(Eviction{})
	}
	list, cut := p.take()
	assert.Equal(t, len(list), 10_000)
	assert.Equal(t, cut, 90_000)
	list, cut = p.take()
	assert.Equal(t, len(list)+cut, 0)
}

// TestBeyondWhatIsListed: at ten times the bounds a report counts what it does not list, and why says
// that a pod was evicted although the eviction itself is forgotten.
func TestBeyondWhatIsListed(t *testing.T) {
	w := newWorld(t)
	w.build()
	for range 100_000 {
		w.d.pending.add(Eviction{})
	}
	report, err := w.d.Cycle(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, report.Unlisted, 90_000)
	assert.Equal(t, report.Cut, 0)
	var table bytes.Buffer
	assert.NilError(t, report.Table(&table))
	assert.Assert(t, strings.HasPrefix(table.String(), fmt.Sprintf("cycle 1, 3 nodes: %d pods evicted\n", 100_000)))
	assert.Assert(t, strings.HasSuffix(table.String(), fmt.Sprintf("\nevictions that are not listed: %d\n", 90_000)))

	d := newDecisions(20_000)
	d.begin()
	for i := range 10_000 {
		pod := newPod("a", fmt.Sprintf("p%d", i), "n", "web")
		d.evicted(Eviction{Pod: "a/" + pod.Name, UID: pod.UID, Profile: "p", Plugin: "All", Reason: "old", From: "n"})
		d.note(pod, decided{profile: "p", plugin: "All", outcome: Evicted, reason: errorText("old")})
	}
	assert.Equal(t, d.why("a", "p0").String(), "a/p0\ncycle 1, p/All: evicted: old\n")
	last := fmt.Sprint("p", 10_000-1)
	assert.Equal(t, d.why("a", last).String(), "a/"+last+"\ncycle 1, p/All: evicted from n: old\n")
}
