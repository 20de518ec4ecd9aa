package descheduler

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A view is the cluster as one cycle sees it, and what its evictions changed. Pods in
// flight are taken out of it from the start.
type view struct {
	snapshot *framework.Snapshot
	landing  framework.Landing
	budgets  *budgets

	evictions atomic.Int64 // decided with this view
	shared    *sync.Mutex  // held while the landing is made anew, or gives a place

	mu     sync.Mutex
	counts int // of all replacements that were expected, the landing counts so many
}

// place returns where the replacement of a pod would run, and holds that place.
func (v *view) place(x *expected, now time.Time, pod *v1.Pod, choice framework.Choice) (framework.Place, error) {
	v.shared.Lock()
	defer v.shared.Unlock()
	for {
		counted := v.expect(x)
		to, err := v.landing.Place(pod, choice)
		if err != nil || x.hold(now, pod, to.Node, counted) {
			return to, err
		}
	}
}

// expect has the landing count the replacements that other views have booked since it was asked
// last, and returns how many there were over all.
func (v *view) expect(x *expected) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	standIns, made := x.after(v.counts)
	v.counts = made
	if l, ok := v.landing.(framework.Expecter); ok {
		for _, s := range standIns {
			l.Expect(s)
		}
	}
	return made
}

// checkedByCore is how the landing of the scheduler's core calls itself.
const checkedByCore = "core"

// checkedBy is how reports call what says where pods would run.
func (v *view) checkedBy() string {
	if named, ok := v.landing.(framework.NamedLanding); ok {
		return named.CheckedBy()
	}
	return "a landing of the program"
}

// nowhere is the landing of a cluster without anything.
type nowhere struct{}

func (nowhere) Place(*v1.Pod, framework.Choice) (p framework.Place, err error) {
	return p, framework.ErrUnknownPod
}

func (nowhere) Book(*v1.Pod, string) error { return framework.ErrUnknownPod }

// A landingMaker makes what answers where pods would run. All that it makes may be one, which follows
// the last snapshot.
type landingMaker struct {
	maker  func(*framework.Snapshot) (framework.Landing, error)
	shared sync.Mutex // see view
}

// make makes one for a view that has a snapshot.
func (m *landingMaker) make(v *view, x *expected) (err error) {
	v.shared = &m.shared
	m.shared.Lock()
	defer m.shared.Unlock()
	if v.landing, err = m.maker(v.snapshot); err == nil && v.landing == nil {
		err = errors.New("the landing is nil")
	}
	if err == nil {
		v.expect(x)
	}
	return err
}

// newView makes a view of the cluster as it is now. The profile is that of a controller, or empty.
func (d *Descheduler) newView(set *profiles, profile string, landing *landingMaker) (*view, error) {
	known := d.expected.known()
	objects, err := d.options.Objects()
	if err != nil {
		return nil, fmt.Errorf("reading the cluster: %w", err)
	}
	now := d.options.Clock.Now()
	d.limits.observe(now, objects.Pods, append(d.inFlight(set), d.background(set)...))
	inFlight := d.limits.inFlight()
	d.expected.observe(now, known, objects.Pods, inFlight)
	s := framework.NewSnapshot(objects, now)
	s.MarkInFlight(inFlight)
	v := &view{snapshot: s, budgets: newBudgets(s)}
	if err := d.watched(profile, landingCalled, func() error { return landing.make(v, &d.expected) }); err != nil {
		return nil, fmt.Errorf("where pods would run: %w", err)
	}
	return v, nil
}

// informed returns a source of objects from informers, and asks for those informers.
func informed(factory informers.SharedInformerFactory) func() (framework.Objects, error) {
	core, scheduling, budgets := factory.Core().V1(), factory.Scheduling().V1(), factory.Policy().V1()
	nodes, pods, namespaces := core.Nodes().Lister(), core.Pods().Lister(), core.Namespaces().Lister()
	claims, classes := core.PersistentVolumeClaims().Lister(), scheduling.PriorityClasses().Lister()
	disruptions, jobs := budgets.PodDisruptionBudgets().Lister(), factory.Batch().V1().Jobs().Lister()
	return func() (o framework.Objects, err error) {
		all := labels.Everything()
		var errs [7]error
		o.Nodes, errs[0] = nodes.List(all)
		o.Pods, errs[1] = pods.List(all)
		o.Namespaces, errs[2] = namespaces.List(all)
		o.PriorityClasses, errs[3] = classes.List(all)
		o.Budgets, errs[4] = disruptions.List(all)
		o.Claims, errs[5] = claims.List(all)
		o.Jobs, errs[6] = jobs.List(all)
		return o, errors.Join(errs[:]...)
	}
}

// usable are the nodes that a selector takes and that are ready. Cordoned nodes stay:
// plugins move pods away from them.
func usable(nodes []*v1.Node, selector labels.Selector) []*v1.Node {
	var kept []*v1.Node
	for _, n := range nodes {
		if isReady(n) && (selector == nil || selector.Matches(labels.Set(n.Labels))) {
			kept = append(kept, n)
		}
	}
	return kept
}

func isReady(n *v1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}
