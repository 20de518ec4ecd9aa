package controllers

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// TestDefaults: one node drains at a time, and pods are tried again after ten seconds.
func TestDefaults(t *testing.T) {
	assert.DeepEqual(t, Register()[0].Args(), &NodeProblemArgs{MaxNodes: 1, RetryPeriod: metav1.Duration{Duration: 10 * time.Second}})
}

// TestBlockedIsToldOnceAMinute: whichever pods a tenant brings, and keeps, an event names them once a minute.
func TestBlockedIsToldOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startWith(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), newPod("kept-0", "a"))
		c.label("a", true)
		c.wait(time.Second)
		assert.Equal(t, len(c.events()), 2, "that it is opened, and blocked")
		for i, want := range []int{0, 0, 0, 1, 0, 0, 1} {
			assert.NilError(t, c.client.Tracker().Add(newPod(fmt.Sprint("kept-more-", i), "a")))
			c.wait(25 * time.Second)
			assert.Equal(t, len(c.events()), want, "of pod %d", i)
		}
	})
}

// TestFewOfAGangAreRead: ten pods of a gang are read for how many it needs. Where the first ten do not say it all must run, so that none leaves
// where one is kept.
func TestFewOfAGangAreRead(t *testing.T) {
	for silent, left := range map[int]int{9: 1, 10: 12} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, byLabel, policy.Limits{}, newNode("a"), newNode("b"), member(newPod("kept-z", "a"), 1), member(newPod("z", "a"), 1))
			for i := range silent {
				pod := member(newPod(fmt.Sprintf("a%02d", i), "a"), 1)
				pod.Annotations[pods.AnnotationTaskGroups] = `[{"name":"another","minMember":1}]`
				assert.NilError(t, c.client.Tracker().Add(pod))
			}
			c.run()
			c.label("a", true)
			c.wait(time.Second)
			assert.Equal(t, c.status("a").Left, left, "%d say nothing", silent)
		})
	}
}
