package kubelet

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations that steer one pod. The package comment says what they mean.
const (
	StartAfter = "e2e.narwhal/start-after"
	RunFor     = "e2e.narwhal/run-for"
	ExitCode   = "e2e.narwhal/exit-code"
	StopAfter  = "e2e.narwhal/stop-after"
)

// jobRuns is how long a pod of a job runs if it does not say so itself.
const jobRuns = time.Second

// An action is one thing that a kubelet does to a pod.
type action int

const (
	nothing action = iota
	start          // its containers
	refuse         // to run it
	resize         // its containers
	finish         // its containers have ended by themselves
	stop           // its containers, because it was deleted
	remove         // what was deleted and has stopped
)

// A step is the next thing to do, now or after a while.
type step struct {
	do    action
	after time.Duration
	code  int32  // of containers that finish
	why   string // a pod is refused: the reason in its status
}

// A life is what a kubelet remembers of a pod that the API server does not say exactly:
// times there are in whole seconds.
type life struct {
	bound    time.Time // seen on the node for the first time
	started  time.Time // or zero
	deleted  time.Time // deletion seen for the first time, or zero
	refusal  string    // why the pod was not admitted, or nothing
	resizing bool      // its request differs from what it has
}

// wishes are the annotations of a pod.
type wishes struct {
	startAfter time.Duration
	runFor     time.Duration
	ends       bool // runFor counts
	exitCode   int32
	stopAfter  time.Duration
}

// next decides. Percent is the part of grace periods that passes.
func next(now time.Time, pod *corev1.Pod, l life, percent int64) step {
	w, err := wishesOf(pod, percent)
	deleted := pod.DeletionTimestamp != nil
	switch {
	case deleted && ended(pod):
		return step{do: remove}
	case deleted:
		return at(now, l.deleted.Add(w.stopAfter), step{do: stop})
	case ended(pod):
		return step{}
	case err != nil:
		return step{do: refuse, why: "BadAnnotation"}
	case l.refusal != "":
		return step{do: refuse, why: l.refusal}
	case pod.Status.Phase != corev1.PodRunning:
		return at(now, l.bound.Add(w.startAfter), step{do: start})
	case l.resizing:
		return step{do: resize}
	case w.ends:
		return at(now, l.started.Add(w.runFor), step{do: finish, code: w.exitCode})
	}
	return step{}
}

// at is a step for a time that may be to come.
func at(now, due time.Time, s step) step {
	s.after = max(0, due.Sub(now))
	return s
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func wishesOf(pod *corev1.Pod, percent int64) (wishes, error) {
	w := wishes{stopAfter: grace(pod) * time.Duration(percent) / 100}
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "Job" {
		w.runFor, w.ends = jobRuns, true
	}
	if _, ok := pod.Annotations[RunFor]; ok {
		w.ends = true
	}
	for name, to := range map[string]*time.Duration{StartAfter: &w.startAfter, RunFor: &w.runFor, StopAfter: &w.stopAfter} {
		text, ok := pod.Annotations[name]
		if !ok {
			continue
		}
		read, err := time.ParseDuration(text)
		if err != nil || read < 0 {
			return w, fmt.Errorf("annotation %s: %q is no duration", name, text)
		}
		*to = read
	}
	if text, ok := pod.Annotations[ExitCode]; ok {
		code, err := strconv.ParseUint(text, 10, 8)
		if err != nil {
			return w, fmt.Errorf("annotation %s: %q is not a number from 0 to 255", ExitCode, text)
		}
		w.exitCode = int32(code)
	}
	return w, nil
}

// grace is what the deletion says, which may be less than the pod does.
func grace(pod *corev1.Pod) time.Duration {
	seconds := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		seconds = *pod.Spec.TerminationGracePeriodSeconds
	}
	if pod.DeletionGracePeriodSeconds != nil {
		seconds = *pod.DeletionGracePeriodSeconds
	}
	return time.Duration(seconds) * time.Second
}
