package drain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStatusIsBounded: ten times as many pods as are named, with reasons ten times as long as is said, are all counted, and the node
// has no more to hold. What is cut is no broken text.
func TestStatusIsBounded(t *testing.T) {
	now := metav1.NewTime(time.Unix(1000, 0))
	status, before := new(Status), new(Status)
	for i := range 200 {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprintf("web-%d", i)}}
		status.Stay(now, pod, strings.Repeat("ü", 2000), before)
	}
	assert.Equal(t, status.Left, 200)
	assert.Equal(t, len(status.Pods), 20)
	assert.Equal(t, status.Pods[0].Why, strings.Repeat("ü", 100)+"...")
	assert.Assert(t, len(status.Text()) < 20*400, "%d bytes", len(status.Text()))
	assert.Assert(t, strings.HasSuffix(status.Kept(), fmt.Sprintf("; and %d more", 180)))

	// What is cut in the same way goes on since when it began.
	later := new(Status)
	later.Stay(metav1.NewTime(time.Unix(2000, 0)), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web-0"}}, strings.Repeat("ü", 2000), status)
	assert.Equal(t, later.Pods[0].Since, now)
}
