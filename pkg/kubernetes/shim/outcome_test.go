package shim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestOutcomeOf(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, c := range []struct {
		err  error
		want outcome
	}{
		{nil, done},
		{apierrors.NewTooManyRequests("busy", 1), again},
		{apierrors.NewForbidden(pods, "web", nil), final},
		{apierrors.NewBadRequest("no"), final},
		{fmt.Errorf("wrapped: %w", apierrors.NewForbidden(pods, "web", nil)), final},
		{apierrors.NewConflict(pods, "web", nil), unknown},
		{apierrors.NewNotFound(pods, "web"), unknown},
		{apierrors.NewInternalError(errors.New("broke")), unknown},
		{apierrors.NewServiceUnavailable("later"), unknown},
		{apierrors.NewTimeoutError("slow", 1), unknown},
		{context.DeadlineExceeded, unknown},
		{errors.New("connection reset"), unknown},
	} {
		assert.Equal(t, outcomeOf(c.err), c.want, "%v", c.err)
	}
}

func TestShortened(t *testing.T) {
	assert.Equal(t, shortened("text"), "text")
	long := shortened(strings.Repeat("ä", 10*1024))
	assert.Assert(t, len(long) <= 1024 && strings.HasSuffix(long, "ä..."), long)
}

// Requests are as long as they can be, and nothing overtakes.
func TestRunOf(t *testing.T) {
	allocation, release, node := message{allocation: &si.Allocation{}}, message{release: &si.AllocationRelease{}}, message{node: &si.NodeInfo{}}
	assert.Equal(t, runOf([]message{allocation, allocation, release, allocation}), 2)
	assert.Equal(t, runOf([]message{release, allocation}), 1)
	assert.Equal(t, runOf([]message{node}), 1)
	many := make([]message, 10*1000)
	for i := range many {
		many[i] = allocation
	}
	assert.Equal(t, runOf(many), 1000)
}

// Pods that have ended are remembered up to a bound, the latest of them.
func TestEndedPodsAreBounded(t *testing.T) {
	const endedMost = 1 << 14
	var ended endedPods
	for i := range 10 * endedMost {
		ended.add(fmt.Sprint(i))
		ended.add(fmt.Sprint(i))
	}
	assert.Equal(t, len(ended.keys), endedMost)
	assert.Equal(t, len(ended.order), endedMost)
	assert.Assert(t, ended.has(fmt.Sprint(10*endedMost-1)) && ended.has(fmt.Sprint(9*endedMost)) && !ended.has(fmt.Sprint(9*endedMost-1)))
}
