package webservice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// nodesOutcome is what the tests look at.
type nodesOutcome struct {
	Asks, Moved, Others []struct {
		AllocationKey, NodeID, NominatedNode string
		Waits                                *struct{ Why string }
	}
	Predicates string
}

func asked(t *testing.T, s *Service, body string) (out nodesOutcome) {
	t.Helper()
	w := post(s.Handler(), whatIfPath, body)
	assert.Equal(t, w.Code, http.StatusOK, w.Body)
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &out))
	return out
}

// TestWhatIfNodes: an ask that no node can hold runs on a new one, and what runs on a node
// that is removed is asked for again.
func TestWhatIfNodes(t *testing.T) {
	s := crowded(t)
	out := asked(t, s, `{"nodes": {"add": [{"nodeId": "new", "count": 2, "capacity": {"vcore": 9000, "memory": 1, "pods": 9}}]},
		"asks": [{"allocationKey": "large", "applicationId": "agents-app", "resource": {"vcore": 9000}, "count": 2}]}`)
	assert.Equal(t, out.Asks[0].NodeID, "new-1")
	assert.Equal(t, out.Asks[1].NodeID, "new-2")
	assert.Equal(t, len(out.Moved), 0)

	view, err := s.config.Views.View(t.Context(), "[mycluster]default")
	assert.NilError(t, err)
	node := view.Nodes[0]
	out = asked(t, s, fmt.Sprintf(`{"nodes": {"remove": [%q]}}`, node.ID))
	assert.Equal(t, len(out.Moved), len(node.Allocations)-len(node.Evictions))
	for _, moved := range out.Moved {
		assert.Assert(t, moved.NodeID != string(node.ID) && (moved.NodeID != "" || moved.Waits != nil))
	}
}

// TestWhatIfAsksPredicates about what waits, as long as there are answers and not too often.
func TestWhatIfAsksPredicates(t *testing.T) {
	unsupported := fmt.Errorf("predicates: %w", errors.ErrUnsupported)
	refusal, failure := errors.New("has the taint gpu"), errors.New("the partition is busy")
	added := `{"nodes": {"add": [{"nodeId": "new", "capacity": {"vcore": 900, "memory": 1, "pods": 9}}]}}`
	for _, c := range []struct {
		name     string
		supports error // of the question without a key
		answer   func(n int) (refused, err error)
		body     string
		want     string
	}{
		{"none", unsupported, nil, "{}", "none"},
		{"busy", failure, nil, "{}", "not asked"},
		{"nothing to ask", nil, nil, "{}", "asked"},
		{"new asks", nil, nil, `{"asks": [{"allocationKey": "k", "applicationId": "agents-app", "resource": {"vcore": 1}}]}`, "not asked"},
		{"new nodes", nil, nil, added, "asked"},
		{"no answer", nil, func(int) (error, error) { return nil, failure }, "{}", "asked"},
		{"refused", nil, func(int) (error, error) { return refusal, nil }, "{}", "asked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := crowded(t), 0
			s.config.Feasible = func(_ context.Context, partition string, ask api.AllocationKey, node api.NodeID) (refused, err error) {
				assert.Equal(t, partition, "[mycluster]default")
				if ask == "" {
					return nil, c.supports
				}
				n++
				return c.answer(n)
			}
			assert.Equal(t, asked(t, s, c.body).Predicates, c.want)
		})
	}
	assert.Equal(t, asked(t, crowded(t), "{}").Predicates, "not asked")
}

// TestPredicatesLeaveTimeToPlay: a resource manager that answers nothing takes a part of the
// time only, so the outcome is whole, and says that nothing was asked.
func TestPredicatesLeaveTimeToPlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crowded(t)
		s.config.Feasible = func(ctx context.Context, _ string, _ api.AllocationKey, _ api.NodeID) (refused, err error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		w := post(s.Handler(), whatIfPath, `{"asks": [{"allocationKey": "k", "applicationId": "agents-app", "resource": {"vcore": 1}}]}`)
		assert.Assert(t, strings.Contains(w.Body.String(), `"predicates":"not asked"`), w.Body)
		assert.Assert(t, !strings.Contains(w.Body.String(), "partial"), w.Body)
	})
}
