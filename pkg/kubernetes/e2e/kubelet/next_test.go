package kubelet

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var zero = time.Unix(1000, 0)

// aPod is one that was bound at zero, with so many CPUs and annotations in pairs.
func aPod(name, cpu string, annotations ...string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: make(map[string]string)},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{
			Name:      "main",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
	for i := 0; i < len(annotations); i += 2 {
		p.Annotations[annotations[i]] = annotations[i+1]
	}
	return p
}

func with(p *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	change(p)
	return p
}

func isRunning(p *corev1.Pod) { p.Status = running(zero, p, "10.128.0.1") }

func isDeleted(p *corev1.Pod) {
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.NewTime(zero)), new(int64(30))
}

func isFailed(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

func ofJob(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Controller: new(true)}}
}

func TestNext(t *testing.T) {
	l := life{bound: zero, started: zero, deleted: zero}
	tests := []struct {
		name string
		pod  *corev1.Pod
		life life
		want step
	}{
		{"starts at once", aPod("a", "1"), l, step{do: start}},
		{"starts later", aPod("a", "1", StartAfter, "5s"), l, step{do: start, after: 3 * time.Second}},
		{"runs for ever", with(aPod("a", "1"), isRunning), l, step{}},
		{"runs for a while", with(aPod("a", "1", RunFor, "1m"), isRunning), l, step{do: finish, after: 58 * time.Second}},
		{"succeeds", with(aPod("a", "1", RunFor, "1s"), isRunning), l, step{do: finish}},
		{"fails", with(aPod("a", "1", RunFor, "0s", ExitCode, "3"), isRunning), l, step{do: finish, code: 3}},
		{"job", with(with(aPod("a", "1"), isRunning), ofJob), l, step{do: finish}},
		{"job that says how long", with(with(aPod("a", "1", RunFor, "3s"), isRunning), ofJob), l, step{do: finish, after: time.Second}},
		{"has ended", with(aPod("a", "1"), isFailed), l, step{}},
		{"stops after a tenth of 30s", with(with(aPod("a", "1"), isRunning), isDeleted), l, step{do: stop, after: time.Second}},
		{"stops after what it says", with(with(aPod("a", "1", StopAfter, "1s"), isRunning), isDeleted), l, step{do: stop}},
		{"deleted before it started", with(aPod("a", "1", StartAfter, "1m", StopAfter, "0s"), isDeleted), l, step{do: stop}},
		{"is removed", with(with(aPod("a", "1", StopAfter, "1m"), isFailed), isDeleted), l, step{do: remove}},
		{"is refused", aPod("a", "1", StartAfter, "5s"), life{bound: zero, refusal: "OutOfcpu"}, step{do: refuse, why: "OutOfcpu"}},
		{"is resized before it ends", with(aPod("a", "1", RunFor, "1s"), isRunning), life{started: zero, resizing: true}, step{do: resize}},
		{"duration that is none", aPod("a", "1", RunFor, "soon"), l, step{do: refuse, why: "BadAnnotation"}},
		{"negative duration", aPod("a", "1", StartAfter, "-1s"), l, step{do: refuse, why: "BadAnnotation"}},
		{"code that is none", aPod("a", "1", ExitCode, "256"), l, step{do: refuse, why: "BadAnnotation"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, next(zero.Add(2*time.Second), test.pod, test.life, 10), test.want)
		})
	}
}

func room(cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("3")}
}

// TestAdmission: a pod counts from its admission until it has ended or is gone, also while
// it is deleted.
func TestAdmission(t *testing.T) {
	r := newResidents()
	refusal := func(p *corev1.Pod) string { return r.see(zero, p, room("2")).refusal }
	first, second := aPod("first", "1"), aPod("second", "1")
	assert.Equal(t, refusal(first), "")
	assert.Equal(t, refusal(second), "")
	assert.Equal(t, refusal(aPod("third", "1")), "OutOfcpu")
	assert.Equal(t, refusal(aPod("third", "1")), "OutOfcpu") // for good
	assert.Equal(t, refusal(aPod("small", "0")), "")
	assert.Equal(t, refusal(aPod("tiny", "0")), "OutOfpods")

	assert.Equal(t, refusal(with(first, isDeleted)), "")
	assert.Equal(t, refusal(aPod("fourth", "1")), "OutOfcpu")
	r.forget(keyOf(first))
	assert.Equal(t, refusal(aPod("fifth", "1")), "")

	assert.Equal(t, refusal(with(second, isFailed)), "")
	assert.Equal(t, refusal(aPod("sixth", "1")), "")
	assert.Equal(t, len(r.of("n1")), 7)
	assert.Equal(t, len(r.of("n2")), 0)
}

// TestPodsThatRunAreKept: a kubelet that starts again admits what it had started.
func TestPodsThatRunAreKept(t *testing.T) {
	r := newResidents()
	assert.Equal(t, r.see(zero, with(aPod("big", "9"), isRunning), room("2")).refusal, "")
	assert.Equal(t, r.see(zero, aPod("small", "1"), room("2")).refusal, "OutOfcpu")
}

// TestSameNameOtherPod: a pod that takes the name of one that is gone has a life of its own.
func TestSameNameOtherPod(t *testing.T) {
	r := newResidents()
	r.see(zero, aPod("a", "1"), room("2"))
	again := aPod("a", "1")
	again.UID = "another"
	assert.Equal(t, r.see(zero.Add(time.Hour), again, room("2")).bound, zero.Add(time.Hour))
}

func TestResize(t *testing.T) {
	r := newResidents()
	a, b := with(aPod("a", "1"), isRunning), with(aPod("b", "1"), isRunning)
	r.see(zero, a, room("3"))
	r.see(zero, b, room("3"))
	assert.Assert(t, !wantsResize(a))
	ask := func(cpu string) string {
		a.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		assert.Assert(t, r.see(zero, a, room("3")).resizing)
		return r.resize(a, room("3"))
	}
	assert.Equal(t, ask("4"), corev1.PodReasonInfeasible)
	assert.Equal(t, ask("2500m"), corev1.PodReasonDeferred)
	assert.Equal(t, ask("2"), "")
	assert.Equal(t, r.see(zero, aPod("c", "1"), room("3")).refusal, "OutOfcpu")
	a.Status.ContainerStatuses = resized(a).ContainerStatuses
	assert.Equal(t, a.Status.ContainerStatuses[0].Resources.Requests.Cpu().String(), "2")
	assert.Equal(t, a.Status.ContainerStatuses[0].AllocatedResources.Cpu().String(), "2")
	assert.Assert(t, !wantsResize(a))
}

// The room of a pod that ends is free before the API server says so: the next one may be there
// at the same moment.
func TestVacate(t *testing.T) {
	r := newResidents()
	first := aPod("first", "2")
	r.see(zero, first, room("2"))
	r.vacate(first)
	assert.Equal(t, r.see(zero, aPod("second", "2"), room("2")).refusal, "")
	again := aPod("first", "2")
	again.UID = "another"
	r.vacate(again) // it is not the one that is there
	r.vacate(aPod("unknown", "1"))
}
