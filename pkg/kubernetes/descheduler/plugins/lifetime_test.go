package plugins_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/lifetime"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

func waiting(reason string) func(*v1.Pod) {
	return state(v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}})
}

func ended(reason string, code int32) func(*v1.Pod) {
	return state(v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: reason, ExitCode: code}})
}

func state(s v1.ContainerState) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, v1.ContainerStatus{State: s})
	}
}

// initially moves what the edits before have said of containers to init containers.
func initially(p *v1.Pod) {
	p.Status.InitContainerStatuses, p.Status.ContainerStatuses = p.Status.ContainerStatuses, nil
}

func ephemerally(p *v1.Pod) {
	p.Status.EphemeralContainerStatuses, p.Status.ContainerStatuses = p.Status.ContainerStatuses, nil
}

func condition(kind, status, reason string, ago time.Duration) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{
			Type: v1.PodConditionType(kind), Status: v1.ConditionStatus(status), Reason: reason,
			LastTransitionTime: metav1.NewTime(ft.Now.Add(-ago)),
		})
	}
}

func because(reason string) func(*v1.Pod) { return func(p *v1.Pod) { p.Status.Reason = reason } }

// sideCar adds a container that was started again so often.
func sideCar(restarts int32) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, v1.ContainerStatus{Name: "side", RestartCount: restarts})
	}
}

var (
	failedPhase = ft.Phase(v1.PodFailed)
	inB         = selection.Pods{Namespaces: &selection.Names{Include: []string{"b"}}}
	unlabelled  = selection.Pods{LabelSelector: &metav1.LabelSelector{MatchLabels: ft.Labels("x=y")}}
)

// selectCases have one pod, which all plugins may evict, and say whether this one does.
var selectCases = []struct {
	name string
	of   framework.Definition
	args any
	pod  []func(*v1.Pod)
	want bool
}{
	{"older", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{MaxPodLifeTimeSeconds: new(uint(59))}, lifetimeEdits(ft.Aged(time.Minute)), true},
	{"exactly as old", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{MaxPodLifeTimeSeconds: new(uint(60))}, lifetimeEdits(ft.Aged(time.Minute)), false},
	{"an absurd age", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{MaxPodLifeTimeSeconds: new(^uint(0))}, nil, false},
	{"completed pods, too", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{MaxPodLifeTimeSeconds: new(uint(1))}, lifetimeEdits(ft.Phase(v1.PodSucceeded)), true},
	{"phase", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"Pending", "Running"}}, nil, true},
	{"other phase", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"Pending"}}, nil, false},
	{"reason of the pod", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"NodeLost"}}, lifetimeEdits(because("NodeLost")), true},
	{"reason to wait", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"ErrImagePull"}}, lifetimeEdits(waiting("ErrImagePull")), true},
	{"reason of the end", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"OOMKilled"}}, lifetimeEdits(ended("OOMKilled", 137)), true},
	{"init container", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"Error"}}, lifetimeEdits(ended("Error", 1), initially), false},
	{"init container included", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"Error"}, IncludingInitContainers: true}, lifetimeEdits(ended("Error", 1), initially), true},
	{"ephemeral container", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"Error"}, IncludingInitContainers: true}, lifetimeEdits(ended("Error", 1), ephemerally), false},
	{"ephemeral container included", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"Error"}, IncludingEphemeralContainers: true}, lifetimeEdits(ended("Error", 1), ephemerally), true},
	{"exit code", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{ExitCodes: []int32{1, 137}}, lifetimeEdits(ended("", 137)), true},
	{"other exit code", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{ExitCodes: []int32{1}}, lifetimeEdits(ended("", 137)), false},
	{"state and age", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{MaxPodLifeTimeSeconds: new(uint(3600)), States: []string{"Running"}}, nil, false},
	{"condition", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{Conditions: []lifetime.PodCondition{{Type: "Ready", Status: "False"}}}, lifetimeEdits(condition("Ready", "False", "x", 0)), true},
	{"other status", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{Conditions: []lifetime.PodCondition{{Type: "Ready", Status: "False"}}}, lifetimeEdits(condition("Ready", "True", "x", 0)), false},
	{"reason of the condition", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{Conditions: []lifetime.PodCondition{{Reason: "y"}}}, lifetimeEdits(condition("Ready", "False", "x", 0)), false},
	{"condition not long enough", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{Conditions: []lifetime.PodCondition{{Type: "Ready", MinTimeSinceLastTransitionSeconds: new(uint(61))}}}, lifetimeEdits(condition("Ready", "False", "x", time.Minute)), false},
	{"condition long enough", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{Conditions: []lifetime.PodCondition{{Type: "No"}, {Type: "Ready", MinTimeSinceLastTransitionSeconds: new(uint(60))}}}, lifetimeEdits(condition("Ready", "False", "x", time.Minute)), true},
	{"owner kind included", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"Running"}, OwnerKinds: &selection.Names{Include: []string{"ReplicaSet"}}}, nil, true},
	{"owner kind not included", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"Running"}, OwnerKinds: &selection.Names{Include: []string{"Job"}}}, nil, false},
	{"owner kind excluded", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"Running"}, OwnerKinds: &selection.Names{Exclude: []string{"ReplicaSet"}}}, nil, false},
	{"refused by the kubelet", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"OutOfcpu"}}, lifetimeEdits(failedPhase, because("OutOfcpu")), true},
	{"a container that was lost", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"ContainerStatusUnknown"}}, lifetimeEdits(ended("ContainerStatusUnknown", 137)), true},
	{"other namespace", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"Running"}, Pods: selection.Pods{Namespaces: &selection.Names{Include: []string{"b"}}}}, nil, false},
	{"other labels", lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{States: []string{"Running"}, Pods: selection.Pods{LabelSelector: &metav1.LabelSelector{MatchLabels: ft.Labels("x=y")}}}, nil, false},

	{"failed an hour ago", lifetime.FailedDefinition(), nil, lifetimeEdits(failedPhase, ft.Aged(time.Hour)), false},
	{"failed longer ago", lifetime.FailedDefinition(), nil, lifetimeEdits(failedPhase, ft.Aged(time.Hour+time.Second)), true},
	{"not failed", lifetime.FailedDefinition(), nil, lifetimeEdits(ft.Aged(2 * time.Hour)), false},
	{"failed, any age", lifetime.FailedDefinition(), &lifetime.FailedArgs{}, lifetimeEdits(failedPhase), true},
	{"failed, reason", lifetime.FailedDefinition(), &lifetime.FailedArgs{Reasons: []string{"a", "b"}}, lifetimeEdits(failedPhase, because("b")), true},
	{"failed, other reason", lifetime.FailedDefinition(), &lifetime.FailedArgs{Reasons: []string{"a"}}, lifetimeEdits(failedPhase, ended("b", 1)), false},
	{"failed, reason of an init container", lifetime.FailedDefinition(), &lifetime.FailedArgs{Reasons: []string{"b"}, IncludingInitContainers: true}, lifetimeEdits(failedPhase, ended("b", 1), initially), true},
	{"failed, exit code", lifetime.FailedDefinition(), &lifetime.FailedArgs{ExitCodes: []int32{3}}, lifetimeEdits(failedPhase, ended("b", 1)), false},
	{"failed, other namespace", lifetime.FailedDefinition(), &lifetime.FailedArgs{Pods: inB}, lifetimeEdits(failedPhase), false},
	{"failed, other labels", lifetime.FailedDefinition(), &lifetime.FailedArgs{Pods: unlabelled}, lifetimeEdits(failedPhase), false},
	{"failed, reason to wait", lifetime.FailedDefinition(), &lifetime.FailedArgs{Reasons: []string{"b"}}, lifetimeEdits(failedPhase, waiting("b")), true},
	{"failed, owner kind", lifetime.FailedDefinition(), &lifetime.FailedArgs{ExcludeOwnerKinds: []string{"ReplicaSet"}}, lifetimeEdits(failedPhase), false},

	{"restarts", restartsOf(3), nil, lifetimeEdits(ft.Restarts(3)), true},
	{"too few restarts", restartsOf(4), nil, lifetimeEdits(ft.Restarts(3)), false},
	{"restarts of all containers", restartsOf(7), nil, lifetimeEdits(ft.Restarts(3), sideCar(4)), true},
	{"too few restarts of all containers", restartsOf(8), nil, lifetimeEdits(ft.Restarts(3), sideCar(4)), false},
	{"restarts, other namespace", lifetime.RestartsDefinition(), &lifetime.RestartsArgs{PodRestartThreshold: 3, Pods: inB}, lifetimeEdits(ft.Restarts(3)), false},
	{"restarts, other labels", lifetime.RestartsDefinition(), &lifetime.RestartsArgs{PodRestartThreshold: 3, Pods: unlabelled}, lifetimeEdits(ft.Restarts(3)), false},
	{"restarts of init containers", restartsOf(3), nil, lifetimeEdits(ft.Restarts(3), initially), false},
	{"restarts of init containers included", lifetime.RestartsDefinition(), &lifetime.RestartsArgs{PodRestartThreshold: 3, IncludingInitContainers: true}, lifetimeEdits(ft.Restarts(3), initially), true},
	{"restarts, state", lifetime.RestartsDefinition(), &lifetime.RestartsArgs{PodRestartThreshold: 3, States: []string{"Running"}}, lifetimeEdits(ft.Restarts(3)), true},
	{"restarts, other state", lifetime.RestartsDefinition(), &lifetime.RestartsArgs{PodRestartThreshold: 3, States: []string{"CrashLoopBackOff"}}, lifetimeEdits(ft.Restarts(3)), false},
	{"restarts, crash loop", lifetime.RestartsDefinition(), &lifetime.RestartsArgs{PodRestartThreshold: 3, States: []string{"CrashLoopBackOff"}}, lifetimeEdits(ft.Restarts(3), waiting("CrashLoopBackOff")), true},
}

func lifetimeEdits(e ...func(*v1.Pod)) []func(*v1.Pod) { return e }

// restartsOf is the plugin with a threshold as its default.
func restartsOf(threshold int32) framework.Definition {
	d := lifetime.RestartsDefinition()
	d.Args = func() any { return &lifetime.RestartsArgs{PodRestartThreshold: threshold} }
	return d
}

func TestSelect(t *testing.T) {
	for _, c := range selectCases {
		t.Run(c.of.Name+" "+c.name, func(t *testing.T) {
			pod := ft.Pod("a/p", "n1", "cpu=1", append(c.pod, ft.Owned("ReplicaSet/r"))...)
			h := ft.NewHandle(t, framework.Objects{Nodes: []*v1.Node{ft.Node("n1", "", "")}, Pods: []*v1.Pod{pod}}, ft.Options{})
			assert.Assert(t, h.Run(t, c.of, c.args) == nil)
			assert.Equal(t, len(h.Evictions()) == 1, c.want)
		})
	}
}

func TestOldestAndMostRestartsGoFirst(t *testing.T) {
	owned := ft.Owned("ReplicaSet/r")
	cluster := framework.Objects{
		Nodes: []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "", "")},
		Pods: []*v1.Pod{
			ft.Pod("a/p1", "n1", "", owned, ft.Aged(2*time.Hour), ft.Restarts(5)),
			ft.Pod("a/p2", "n2", "", owned, ft.Aged(3*time.Hour), ft.Restarts(4)),
			ft.Pod("a/p3", "n1", "", owned, ft.Aged(time.Hour), ft.Restarts(6)),
		},
	}
	for _, c := range []struct {
		of   framework.Definition
		args any
		want []string
	}{
		{lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{MaxPodLifeTimeSeconds: new(uint(1))}, []string{"a/p2", "a/p1", "a/p3"}},
		{lifetime.RestartsDefinition(), &lifetime.RestartsArgs{PodRestartThreshold: 4}, []string{"a/p3", "a/p1", "a/p2"}},
	} {
		h := ft.NewHandle(t, cluster, ft.Options{})
		h.Run(t, c.of, c.args)
		assert.DeepEqual(t, h.Asked(), c.want)
	}
}

func TestLifeTimeNamesAllThatIsWrong(t *testing.T) {
	for _, m := range []mistake{
		{
			lifetime.PodLifeTimeDefinition(),
			&lifetime.PodLifeTimeArgs{Pods: unselectable, OwnerKinds: unselectable.Namespaces, States: []string{"Waitung"}, Conditions: []lifetime.PodCondition{{}}},
			[]string{"namespaces:", "labelSelector:", "ownerKinds:", `"Waitung"`, "conditions[0]"},
		},
		{lifetime.PodLifeTimeDefinition(), &lifetime.PodLifeTimeArgs{}, []string{"one of maxPodLifeTimeSeconds"}},
		{lifetime.FailedDefinition(), &lifetime.FailedArgs{Pods: unselectable}, []string{"namespaces:", "labelSelector:"}},
		{lifetime.RestartsDefinition(), &lifetime.RestartsArgs{Pods: unselectable, States: []string{"Failed"}}, []string{"namespaces:", "labelSelector:", `"Failed"`, "at least 1"}},
		{lifetime.RestartsDefinition(), 1, []string{"int"}},
		{lifetime.PodLifeTimeDefinition(), 1, []string{"int"}},
		{lifetime.FailedDefinition(), 1, []string{"int"}},
	} {
		m.isNamed(t)
	}
}
