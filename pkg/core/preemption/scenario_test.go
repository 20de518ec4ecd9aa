package preemption_test

import (
	"testing"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario/scenariotest"
)

// TestScenarios runs those of testdata/scenarios, in which room is kept, and made by evictions.
func TestScenarios(t *testing.T) { scenariotest.Run(t, "testdata/scenarios") }
