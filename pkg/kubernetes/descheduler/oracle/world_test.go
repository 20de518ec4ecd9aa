// Package oracle has tests only: a model of the descheduler that was written from its
// documents, without a look at its code, and random worlds in which both are compared.
//
//	world_test.go   a world: objects and a policy, and how the descheduler runs in it
//	random_test.go  random worlds
//	model_test.go   what the documents say, written again
//	check_test.go   a report against the model
//	oracle_test.go  the tests
package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	scheduling "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/controllers"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/evictors"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/landing"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/order"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/queues"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type names struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

func (n *names) has(name string) bool {
	if n == nil {
		return true
	}
	if len(n.Include) > 0 {
		return slices.Contains(n.Include, name)
	}
	return !slices.Contains(n.Exclude, name)
}

type condition struct {
	Type   string `json:"type,omitempty"`
	Status string `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	Since  *int   `json:"minTimeSinceLastTransitionSeconds,omitempty"`
}

// args are those of all plugins; each has some of them.
type args struct {
	Namespaces              *names                `json:"namespaces,omitempty"`
	LabelSelector           *metav1.LabelSelector `json:"labelSelector,omitempty"`
	OwnerKinds              *names                `json:"ownerKinds,omitempty"`
	ExcludeOwnerKinds       []string              `json:"excludeOwnerKinds,omitempty"`
	MaxPodLifeTimeSeconds   *int                  `json:"maxPodLifeTimeSeconds,omitempty"`
	States                  []string              `json:"states,omitempty"`
	Conditions              []condition           `json:"conditions,omitempty"`
	ExitCodes               []int32               `json:"exitCodes,omitempty"`
	IncludingInitContainers bool                  `json:"includingInitContainers,omitempty"`
	MinPodLifetimeSeconds   *int                  `json:"minPodLifetimeSeconds,omitempty"`
	Reasons                 []string              `json:"reasons,omitempty"`
	PodRestartThreshold     int32                 `json:"podRestartThreshold,omitempty"`
	NodeAffinityType        []string              `json:"nodeAffinityType,omitempty"`
	IncludePreferNoSchedule bool                  `json:"includePreferNoSchedule,omitempty"`
	ExcludedTaints          []string              `json:"excludedTaints,omitempty"`
	IncludedTaints          []string              `json:"includedTaints,omitempty"`
	Constraints             []string              `json:"constraints,omitempty"`
	Thresholds              map[string]int        `json:"thresholds,omitempty"`
	TargetThresholds        map[string]int        `json:"targetThresholds,omitempty"`
	UseDeviationThresholds  bool                  `json:"useDeviationThresholds,omitempty"`
	NumberOfNodes           int                   `json:"numberOfNodes,omitempty"`
	EvictionModes           []string              `json:"evictionModes,omitempty"`
	EvictableNamespaces     *names                `json:"evictableNamespaces,omitempty"`
	EvictionLimits          map[string]int        `json:"evictionLimits,omitempty"`
}

type evictorArgs struct {
	NodeSelector           string                `json:"nodeSelector,omitempty"`
	LabelSelector          *metav1.LabelSelector `json:"labelSelector,omitempty"`
	NamespaceLabelSelector *metav1.LabelSelector `json:"namespaceLabelSelector,omitempty"`
	PriorityThreshold      map[string]any        `json:"priorityThreshold,omitempty"`
	NodeFit                bool                  `json:"nodeFit,omitempty"`
	MinReplicas            int                   `json:"minReplicas,omitempty"`
	MinPodAge              string                `json:"minPodAge,omitempty"`
	NoEvictionPolicy       string                `json:"noEvictionPolicy,omitempty"`
	PodProtections         map[string]any        `json:"podProtections,omitempty"`
	EvictLocal             bool                  `json:"evictLocalStoragePods,omitempty"`
	EvictDaemon            bool                  `json:"evictDaemonSetPods,omitempty"`
	EvictCritical          bool                  `json:"evictSystemCriticalPods,omitempty"`
	IgnorePvc              bool                  `json:"ignorePvcPods,omitempty"`
	IgnoreNoPDB            bool                  `json:"ignorePodsWithoutPDB,omitempty"`
	EvictFailedBare        bool                  `json:"evictFailedBarePods,omitempty"`
}

type plugin struct {
	Name  string
	Args  args
	Limit int // none: 0
}

type profile struct {
	Name         string
	NodeSelector map[string]string
	Evictor      evictorArgs
	NoEvictor    bool
	Plugins      []plugin
}

type settings struct {
	NodeSelector                 string
	Total, PerNode, PerNS, PerWL int // -1: none
	FTotal, FNode, FNS, FWL      int // in flight
	RateMax                      int
	RateWindow                   time.Duration
	CoolDown                     time.Duration // -1: the default
	Profiles                     []profile
}

const (
	lifeTime   = "PodLifeTime"
	failed     = "RemoveFailedPods"
	restarts   = "RemovePodsHavingTooManyRestarts"
	taints     = "RemovePodsViolatingNodeTaints"
	affinity   = "RemovePodsViolatingNodeAffinity"
	apart      = "RemovePodsViolatingInterPodAntiAffinity"
	duplicates = "RemoveDuplicates"
	low        = "LowNodeUtilization"
	high       = "HighNodeUtilization"
	spread     = "RemovePodsViolatingTopologySpreadConstraint"
)

func atBalance(name string) bool {
	return name == duplicates || name == low || name == high || name == spread
}

func (s settings) text() string {
	doc := map[string]any{"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
	put := func(m map[string]any, key string, n int) {
		if n >= 0 {
			m[key] = n
		}
	}
	if s.NodeSelector != "" {
		doc["nodeSelector"] = s.NodeSelector
	}
	put(doc, "maxNoOfPodsToEvictTotal", s.Total)
	put(doc, "maxNoOfPodsToEvictPerNode", s.PerNode)
	put(doc, "maxNoOfPodsToEvictPerNamespace", s.PerNS)
	put(doc, "maxNoOfPodsToEvictPerWorkload", s.PerWL)
	limits, flight := map[string]any{}, map[string]any{}
	put(flight, "total", s.FTotal)
	put(flight, "perNode", s.FNode)
	put(flight, "perNamespace", s.FNS)
	put(flight, "perWorkload", s.FWL)
	if len(flight) > 0 {
		limits["inFlight"] = flight
	}
	if s.RateMax > 0 {
		limits["workloadRate"] = map[string]any{"max": s.RateMax, "window": s.RateWindow.String()}
	}
	if s.CoolDown >= 0 {
		limits["coolDown"] = map[string]any{"initial": s.CoolDown.String()}
	}
	if len(limits) > 0 {
		doc["limits"] = limits
	}
	var profiles []any
	for _, p := range s.Profiles {
		config := []any{}
		points := map[string]map[string]any{}
		for _, pl := range p.Plugins {
			c := map[string]any{"name": pl.Name, "args": pl.Args}
			if pl.Limit > 0 {
				c["maxNoOfPodsToEvict"] = pl.Limit
			}
			config = append(config, c)
			point := "deschedule"
			if atBalance(pl.Name) {
				point = "balance"
			}
			if points[point] == nil {
				points[point] = map[string]any{"enabled": []string{}}
			}
			points[point]["enabled"] = append(points[point]["enabled"].([]string), pl.Name)
		}
		if p.NoEvictor {
			points["filter"] = map[string]any{"disabled": []string{"*"}}
			points["preevictionfilter"] = map[string]any{"disabled": []string{"DefaultEvictor"}}
		} else {
			config = append(config, map[string]any{"name": "DefaultEvictor", "args": p.Evictor})
		}
		q := map[string]any{"name": p.Name, "pluginConfig": config, "plugins": points}
		if p.NodeSelector != nil {
			q["nodeSelector"] = map[string]any{"matchLabels": p.NodeSelector}
		}
		profiles = append(profiles, q)
	}
	doc["profiles"] = profiles
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// A world is a cluster and a policy.
type world struct {
	o    framework.Objects
	s    settings
	core bool
}

func (w world) copy() world {
	c := w
	c.o = framework.Objects{}
	for _, n := range w.o.Nodes {
		c.o.Nodes = append(c.o.Nodes, n.DeepCopy())
	}
	for _, p := range w.o.Pods {
		c.o.Pods = append(c.o.Pods, p.DeepCopy())
	}
	for _, b := range w.o.Budgets {
		c.o.Budgets = append(c.o.Budgets, b.DeepCopy())
	}
	c.o.Namespaces, c.o.PriorityClasses, c.o.Claims = slices.Clone(w.o.Namespaces), slices.Clone(w.o.PriorityClasses), slices.Clone(w.o.Claims)
	return c
}

func (w *world) shuffle(r *rand.Rand) {
	o := &w.o
	r.Shuffle(len(o.Nodes), func(i, j int) { o.Nodes[i], o.Nodes[j] = o.Nodes[j], o.Nodes[i] })
	r.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
	r.Shuffle(len(o.Budgets), func(i, j int) { o.Budgets[i], o.Budgets[j] = o.Budgets[j], o.Budgets[i] })
	r.Shuffle(len(o.Namespaces), func(i, j int) { o.Namespaces[i], o.Namespaces[j] = o.Namespaces[j], o.Namespaces[i] })
}

// claims are the same in all worlds, so that one API server will do.
func claims() (cs []*v1.PersistentVolumeClaim, vs []*v1.PersistentVolume) {
	for _, ns := range []string{"a", "b", "c"} {
		for _, class := range []string{"fast", "slow"} {
			c := class
			volume := ns + "-" + class
			cs = append(cs, &v1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: class, UID: types.UID("pvc" + volume), Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
				Spec: v1.PersistentVolumeClaimSpec{StorageClassName: &c, VolumeName: volume, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteMany},
					Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}}},
				Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}},
			})
			vs = append(vs, &v1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: volume},
				Spec: v1.PersistentVolumeSpec{StorageClassName: class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteMany},
					Capacity:               v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
					ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: ns, Name: class, UID: types.UID("pvc" + volume)},
					PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: volume}}},
				Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound},
			})
		}
	}
	return
}

func namespaces() (ns []*v1.Namespace) {
	for name, team := range map[string]string{"a": "x", "b": "y", "c": "x"} {
		ns = append(ns, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team, "kubernetes.io/metadata.name": name}}})
	}
	return
}

func classes() []*scheduling.PriorityClass {
	return []*scheduling.PriorityClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "mid"}, Value: 100},
		{ObjectMeta: metav1.ObjectMeta{Name: "top"}, Value: 1000},
	}
}

// An engine keeps what does not depend on the world.
type engine struct {
	t        testing.TB
	registry *framework.Registry
	options  policy.Options
	cluster  *landing.Cluster
}

func newEngine(t testing.TB) *engine {
	r := new(framework.Registry)
	assert.NilError(t, r.Register(slices.Concat(plugins.Definitions(), evictors.Register(), controllers.Register(), []framework.Definition{migration.Definition()},
		queues.Definitions(func(a, b *v1.Pod) bool { return order.Compare(a, b) < 0 }))...))
	var objects []runtime.Object
	for _, n := range namespaces() {
		objects = append(objects, n)
	}
	cs, vs := claims()
	for i := range cs {
		objects = append(objects, cs[i], vs[i])
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	checker, err := feasibility.New(t.Context(), client, factory, feasibility.Options{Workers: 1})
	assert.NilError(t, err)
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	assert.NilError(t, checker.WaitForSync(t.Context()))
	c, err := landing.New(checker, landing.Options{Rules: pods.Rules{SchedulerNames: []string{"narwhal"}}})
	assert.NilError(t, err)
	return &engine{t: t, registry: r, cluster: c, options: policy.Options{Defaults: map[framework.Point][]string{
		framework.Filter: {"DefaultEvictor"}, framework.PreEvictionFilter: {"DefaultEvictor"},
		framework.Sort: {"PrioritySort"}, framework.Evict: {"Eviction"},
	}}}
}

// A play is a descheduler at work in a world that changes.
type play struct {
	w        *world
	dry      bool
	clock    *clocktesting.FakeClock
	d        *descheduler.Descheduler
	asked    []types.UID // that the API server evicted, in this cycle
	rejected []string    // what the API server did not evict
	mix      *rand.Rand  // shuffles the objects of each cycle
	flaky    func(*v1.Pod) bool
	broken   []types.UID // what it answered with an error of its own
}

func (e *engine) play(w *world, dry bool) (*play, error) {
	p, _, err := policy.Load([]byte(w.s.text()), e.registry, e.options)
	if err != nil {
		return nil, err
	}
	pl := &play{w: w, dry: dry, clock: clocktesting.NewFakeClock(start)}
	client := &fake.Clientset{}
	client.AddReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		ev := a.(ktesting.CreateAction).GetObject().(*policyv1.Eviction)
		return true, nil, pl.answer(ev)
	})
	o := descheduler.Options{
		Client: client, Clock: pl.clock, DryRun: dry,
		Objects: func() (framework.Objects, error) {
			c := pl.w.copy()
			if pl.mix != nil {
				c.shuffle(pl.mix)
			}
			return c.o, nil
		},
	}
	if w.core {
		o.Landing = func(s *framework.Snapshot) (framework.Landing, error) {
			e.cluster.Sync(s)
			return e.cluster, nil
		}
	}
	pl.d, err = descheduler.New(e.t.Context(), p, e.registry, o)
	return pl, err
}

// answer is that of the API server: that of Kubernetes.
func (pl *play) answer(ev *policyv1.Eviction) error {
	for _, p := range pl.w.o.Pods {
		if p.Namespace != ev.Namespace || p.Name != ev.Name {
			continue
		}
		if ev.DeleteOptions != nil && ev.DeleteOptions.Preconditions != nil && ev.DeleteOptions.Preconditions.UID != nil && *ev.DeleteOptions.Preconditions.UID != p.UID {
			return apierrors.NewConflict(v1.Resource("pods"), p.Name, fmt.Errorf("uid"))
		}
		if pl.flaky != nil && pl.flaky(p) {
			pl.broken = append(pl.broken, p.UID)
			return apierrors.NewInternalError(fmt.Errorf("no"))
		}
		ok, charged := charge(p, pl.w.o.Budgets)
		if !ok {
			pl.rejected = append(pl.rejected, p.Namespace+"/"+p.Name)
			return apierrors.NewTooManyRequests("it would violate the pod's disruption budget", 0)
		}
		if charged != nil {
			charged.Status.DisruptionsAllowed--
		}
		pl.asked = append(pl.asked, p.UID)
		return nil
	}
	return apierrors.NewNotFound(v1.Resource("pods"), ev.Name)
}

func (pl *play) cycle() (*descheduler.Report, string, error) {
	pl.asked, pl.rejected = nil, nil
	r, err := pl.d.Cycle(context())
	if err != nil {
		return r, "", err
	}
	var text bytes.Buffer
	err = r.JSON(&text)
	return r, text.String(), err
}
