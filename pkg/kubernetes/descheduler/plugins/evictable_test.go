package plugins_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	scheduling "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/evictable"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/order"
)

func volume(source v1.VolumeSource) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "v", VolumeSource: source}) }
}

func claimed(name string) func(*v1.Pod) {
	return volume(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}})
}

var (
	owned    = ft.Owned("ReplicaSet/web")
	critical = ft.Priority(evictable.HighestThreshold)
	deleted  = func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: ft.Now} }
	empty    = volume(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})
	claims   = func(p *v1.Pod) { p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}} }
	byClass  = func(p *v1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }
	noStart  = func(p *v1.Pod) { p.Status.StartTime = nil }
)

func value(v int32) *evictable.PriorityThreshold { return &evictable.PriorityThreshold{Value: &v} }

func off(protections ...string) func(*evictable.Args) {
	return func(a *evictable.Args) { a.PodProtections.DefaultDisabled = protections }
}

func on(protections ...string) func(*evictable.Args) {
	return func(a *evictable.Args) { a.PodProtections.ExtraEnabled = protections }
}

func objects() framework.Objects {
	fast := "fast"
	return framework.Objects{
		Nodes:           []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "", "pool=b")},
		Namespaces:      []*v1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: ft.Labels("team=x")}}},
		PriorityClasses: []*scheduling.PriorityClass{{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100}},
		Claims: []*v1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "data"},
			Spec:       v1.PersistentVolumeClaimSpec{StorageClassName: &fast},
		}},
		Budgets: []*policy.PodDisruptionBudget{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web"},
			Spec:       policy.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: ft.Labels("app=web")}},
		}},
	}
}

type edits []func(*v1.Pod)

// filterCases have the pod, the arguments, and a part of the reason; empty: it may go.
var filterCases = map[string]struct {
	pod  edits
	args func(*evictable.Args)
	want string
}{
	"an owned pod may go":                     {edits{owned}, nil, ""},
	"the annotation goes before all else":     {edits{deleted, critical, ft.Annotated(evictable.EvictAnnotation)}, nil, ""},
	"the annotation goes before mirror pods":  {edits{owned, ft.Annotated("kubernetes.io/config.mirror " + evictable.EvictAnnotation)}, nil, ""},
	"the annotation goes before static pods":  {edits{owned, ft.Annotated("kubernetes.io/config.source=file " + evictable.EvictAnnotation)}, nil, ""},
	"the annotation goes before its wish":     {edits{owned, ft.Annotated(order.PreferNoEviction + " " + evictable.EvictAnnotation)}, func(a *evictable.Args) { a.NoEvictionPolicy = evictable.Mandatory }, ""},
	"a mirror pod stays":                      {edits{owned, ft.Annotated("kubernetes.io/config.mirror")}, nil, "mirror"},
	"a static pod stays":                      {edits{owned, ft.Annotated("kubernetes.io/config.source=file")}, nil, "static"},
	"a pod of the API server is not static":   {edits{owned, ft.Annotated("kubernetes.io/config.source=api")}, nil, ""},
	"a terminating pod stays":                 {edits{owned, deleted}, nil, "terminating"},
	"prefers to stay, preferred":              {edits{owned, ft.Annotated("descheduler.alpha.kubernetes.io/prefer-no-eviction")}, nil, ""},
	"prefers to stay, mandatory":              {edits{owned, ft.Annotated("descheduler.alpha.kubernetes.io/prefer-no-eviction")}, func(a *evictable.Args) { a.NoEvictionPolicy = evictable.Mandatory }, "mandatory"},
	"critical by priority":                    {edits{owned, critical}, nil, "critical"},
	"critical by class":                       {edits{owned, byClass}, nil, "critical"},
	"critical by the class of the cluster":    {edits{owned, func(p *v1.Pod) { p.Spec.PriorityClassName = "system-cluster-critical" }}, nil, "critical"},
	"critical, unprotected":                   {edits{owned, critical}, off(evictable.SystemCriticalPods), ""},
	"critical, unprotected, old switch":       {edits{owned, critical}, func(a *evictable.Args) { a.EvictSystemCriticalPods = true }, ""},
	"below the threshold":                     {edits{owned, ft.Priority(9)}, func(a *evictable.Args) { a.PriorityThreshold = value(10) }, ""},
	"at the threshold":                        {edits{owned, ft.Priority(10)}, func(a *evictable.Args) { a.PriorityThreshold = value(10) }, "threshold 10"},
	"threshold by class":                      {edits{owned, ft.Priority(100)}, func(a *evictable.Args) { a.PriorityThreshold = &evictable.PriorityThreshold{Name: "high"} }, "threshold 100"},
	"threshold by a class that is not there":  {edits{owned}, func(a *evictable.Args) { a.PriorityThreshold = &evictable.PriorityThreshold{Name: "no"} }, "does not exist"},
	"a bare pod stays":                        {nil, nil, "no owner"},
	"a failed bare pod stays":                 {edits{ft.Phase(v1.PodFailed)}, nil, "FailedBarePods"},
	"a failed bare pod, unprotected":          {edits{ft.Phase(v1.PodFailed)}, off(evictable.FailedBarePods), ""},
	"a failed bare pod, old switch":           {edits{ft.Phase(v1.PodFailed)}, func(a *evictable.Args) { a.EvictFailedBarePods = true }, ""},
	"a bare pod that runs, unprotected":       {nil, off(evictable.FailedBarePods), "no owner"},
	"local storage":                           {edits{owned, empty}, nil, "local storage"},
	"a directory of the node":                 {edits{owned, volume(v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}})}, nil, "local storage"},
	"local storage, unprotected":              {edits{owned, empty}, off(evictable.PodsWithLocalStorage), ""},
	"local storage, old switch":               {edits{owned, empty}, func(a *evictable.Args) { a.EvictLocalStoragePods = true }, ""}, //nolint:staticcheck // it is kept
	"of a DaemonSet":                          {edits{ft.Owned("DaemonSet/d")}, nil, "DaemonSet"},
	"of a DaemonSet, unprotected":             {edits{ft.Owned("DaemonSet/d")}, off(evictable.DaemonSetPods), ""},
	"of a DaemonSet, old switch":              {edits{ft.Owned("DaemonSet/d")}, func(a *evictable.Args) { a.EvictDaemonSetPods = true }, ""},
	"a claim":                                 {edits{owned, claimed("data")}, nil, ""},
	"a claim, protected":                      {edits{owned, claimed("data")}, on(evictable.PodsWithPVC), "volume claim"},
	"a claim, old switch":                     {edits{owned, claimed("data")}, func(a *evictable.Args) { a.IgnorePvcPods = true }, "volume claim"},
	"a claim of another class":                {edits{owned, claimed("data")}, protecting("slow"), ""},
	"a claim of the protected class":          {edits{owned, claimed("data")}, protecting("fast"), "storage class fast"},
	"a claim that is not known":               {edits{owned, claimed("no")}, protecting("fast"), "not known"},
	"no budget":                               {edits{owned}, on(evictable.PodsWithoutPDB), "no disruption budget"},
	"no budget, old switch":                   {edits{owned}, func(a *evictable.Args) { a.IgnorePodsWithoutPDB = true }, "no disruption budget"},
	"a budget":                                {edits{owned, ft.Labelled("app=web")}, on(evictable.PodsWithoutPDB), ""},
	"a resource claim":                        {edits{owned, claims}, nil, ""},
	"a resource claim, protected":             {edits{owned, claims}, on(evictable.PodsWithResourceClaims), "resource claim"},
	"labels":                                  {edits{owned}, func(a *evictable.Args) { a.LabelSelector = &metav1.LabelSelector{MatchLabels: ft.Labels("app=db")} }, "labels"},
	"too few replicas":                        {edits{owned}, func(a *evictable.Args) { a.MinReplicas = 2 }, "has 1 pods, fewer than 2"},
	"one replica is no demand":                {edits{owned}, func(a *evictable.Args) { a.MinReplicas = 1 }, ""},
	"replicas of two owners are not counted":  {edits{owned, ft.Owned("Job/j")}, func(a *evictable.Args) { a.MinReplicas = 2 }, ""},
	"young":                                   {edits{owned, ft.Aged(time.Minute)}, aged(2 * time.Minute), "less than 2m0s"},
	"old enough":                              {edits{owned, ft.Aged(2 * time.Minute)}, aged(2 * time.Minute), ""},
	"it was made long ago and started now":    {edits{owned, func(p *v1.Pod) { p.Status.StartTime = &metav1.Time{Time: ft.Now} }}, aged(time.Minute), "less than 1m0s"},
	"not started yet":                         {edits{owned, noStart}, aged(time.Minute), "less than 1m0s"},
	"all reasons are named, the first of two": {edits{critical}, nil, "critical"},
	"all reasons are named, the last of two":  {edits{critical}, nil, "no owner"},
}

func protecting(class string) func(*evictable.Args) {
	return func(a *evictable.Args) {
		on(evictable.PodsWithPVC)(a)
		a.PodProtections.Config = &evictable.ProtectionsConfig{PodsWithPVC: &evictable.PodsWithPVCConfig{
			ProtectedStorageClasses: []evictable.StorageClass{{Name: class}},
		}}
	}
}

func aged(d time.Duration) func(*evictable.Args) {
	return func(a *evictable.Args) { a.MinPodAge = &metav1.Duration{Duration: d} }
}

func TestFilter(t *testing.T) {
	for name, c := range filterCases {
		t.Run(name, func(t *testing.T) {
			o := objects()
			pod := ft.Pod("a/p", "n1", "cpu=1", c.pod...)
			o.Pods = []*v1.Pod{pod}
			args := evictable.DefaultArgs().(*evictable.Args)
			if c.args != nil {
				c.args(args)
			}
			err := ft.NewHandle(t, o, ft.Options{}).Build(t, evictable.Definition(), args).(framework.FilterPlugin).Filter(pod)
			if c.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// A threshold that an operator has set stays when critical pods may be evicted.
func TestThresholdDoesNotDependOnSystemCriticalPods(t *testing.T) {
	o := objects()
	args := evictable.DefaultArgs().(*evictable.Args)
	args.PriorityThreshold = value(10)
	off(evictable.SystemCriticalPods)(args)
	filter := ft.NewHandle(t, o, ft.Options{}).Build(t, evictable.Definition(), args).(framework.FilterPlugin)
	assert.NilError(t, filter.Filter(ft.Pod("a/p", "n1", "", owned, ft.Priority(9))))
	assert.ErrorContains(t, filter.Filter(ft.Pod("a/p", "n1", "", owned, ft.Priority(11))), "threshold 10")
	assert.ErrorContains(t, filter.Filter(ft.Pod("a/p", "n1", "", owned, critical)), "threshold 10")

	// The highest threshold keeps nothing that the protection which is off would keep.
	args.PriorityThreshold = value(evictable.HighestThreshold)
	filter = ft.NewHandle(t, o, ft.Options{}).Build(t, evictable.Definition(), args).(framework.FilterPlugin)
	assert.NilError(t, filter.Filter(ft.Pod("a/p", "n1", "", owned, critical)))
}

func TestPreEvictionFilter(t *testing.T) {
	for name, c := range map[string]struct {
		pod  edits
		args evictable.Args
		want string
	}{
		"nothing is asked":          {nil, evictable.Args{}, ""},
		"fits elsewhere":            {nil, evictable.Args{NodeFit: true}, ""},
		"elsewhere is not selected": {nil, evictable.Args{NodeFit: true, NodeSelector: "pool=c"}, "no other node"},
		"elsewhere is full":         {edits{func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = ft.Amounts("cpu=3") }}, evictable.Args{NodeFit: true}, "no other node"},
		"namespace":                 {nil, evictable.Args{NamespaceLabelSelector: &metav1.LabelSelector{MatchLabels: ft.Labels("team=x")}}, ""},
		"other namespace":           {nil, evictable.Args{NamespaceLabelSelector: &metav1.LabelSelector{MatchLabels: ft.Labels("team=y")}}, "namespace a"},
	} {
		t.Run(name, func(t *testing.T) {
			o := objects()
			pod := ft.Pod("a/p", "n1", "cpu=1", append(c.pod, owned)...)
			o.Pods = []*v1.Pod{pod, ft.Pod("a/q", "n2", "cpu=2", owned)}
			err := ft.NewHandle(t, o, ft.Options{}).Build(t, evictable.Definition(), &c.args).(framework.PreEvictionFilterPlugin).PreEvictionFilter(pod)
			if c.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestValidateNamesAll(t *testing.T) {
	bad := &evictable.Args{
		NodeSelector:      "a in",
		LabelSelector:     &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Of"}}},
		PriorityThreshold: &evictable.PriorityThreshold{Value: new(int32), Name: "x"},
		NoEvictionPolicy:  "Perhaps",
		MinPodAge:         &metav1.Duration{Duration: -1},
		PodProtections: evictable.PodProtections{
			ExtraEnabled: []string{"No", evictable.PodsWithPVC, evictable.PodsWithPVC}, DefaultDisabled: []string{"Never"},
			Config: &evictable.ProtectionsConfig{PodsWithPVC: &evictable.PodsWithPVCConfig{ProtectedStorageClasses: []evictable.StorageClass{{}}}},
		},
		IgnorePvcPods: true,
	}
	err := evictable.Validate(bad)
	for _, part := range []string{
		"nodeSelector:", "labelSelector:", "only one of value and name", `"Perhaps"`, "minPodAge", `"No"`, "twice",
		`"Never"`, "podProtections: cannot be set together with the deprecated switches", "protectedStorageClasses[0]",
	} {
		assert.ErrorContains(t, err, part)
	}
	above := int32(evictable.HighestThreshold + 1)
	assert.ErrorContains(t, evictable.Validate(&evictable.Args{PriorityThreshold: &evictable.PriorityThreshold{Value: &above}}), "priorityThreshold.value: must be at most 2000000000, not 2000000001")
	assert.NilError(t, evictable.Definition().Validate(evictable.DefaultArgs()))
	assert.Assert(t, strings.Contains(evictable.Definition().Validate(3).Error(), "int"))
}
