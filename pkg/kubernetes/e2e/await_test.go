package e2e

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// fixed is an observer of pods that the test changes itself.
func fixed(pods cache.Indexer) *observer {
	return &observer{
		view:    View{pods: corelisters.NewPodLister(pods)},
		changed: make(chan struct{}),
		last:    make(map[string]string),
		started: time.Now(),
	}
}

// TestAwaitIsWokenByChanges: the second change makes the condition hold.
func TestAwaitIsWokenByChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
		o := fixed(pods)
		result := make(chan error)
		go func() { result <- o.await(t.Context(), time.Minute, Running("web", 1)) }()
		for _, phase := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning} {
			synctest.Wait()
			p := aPod("web", "n1")
			p.Status.Phase = phase
			assert.NilError(t, pods.Update(p))
			o.note(p, false)
		}
		assert.NilError(t, <-result)
	})
}

// TestAwaitSaysWhatItSaw: a condition that never holds ends at the deadline.
func TestAwaitSaysWhatItSaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
		p := aPod("web", "")
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no room"}}
		assert.NilError(t, pods.Add(p))
		err := fixed(pods).await(t.Context(), time.Minute, Running("web", 2))
		assert.Error(t, err, "waited 1m0s until 2 pods of web run; last seen: 0 run; others: web-1  (Unschedulable: no room)")
	})
}

// TestRecordIsBounded: ten times as many changes as are kept leave the latest.
func TestRecordIsBounded(t *testing.T) {
	o := fixed(nil)
	p := aPod("web", "n1")
	for i := range 10 * recordMax {
		p.Status.Phase = corev1.PodRunning
		if i%2 == 0 {
			p.Status.Phase = corev1.PodPending
		}
		o.note(p, false)
	}
	assert.Equal(t, len(o.record), recordMax)
	o.note(p, false) // nothing has changed
	o.note(cache.DeletedFinalStateUnknown{Obj: p}, true)
	assert.Equal(t, len(o.record), recordMax)
	assert.Equal(t, o.last["/web-1"], "is gone")
}

func TestRefusalsOfKubeletsAreNoted(t *testing.T) {
	o := fixed(nil)
	p := aPod("web", "n1")
	p.Status.Phase, p.Status.Reason = corev1.PodFailed, "OutOfcpu"
	o.note(p, false)
	assert.DeepEqual(t, o.refusals(), []string{"/web-1 on n1: OutOfcpu"})
}
