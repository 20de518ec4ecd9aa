package core_test

import (
	"testing"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario/scenariotest"
)

// TestScenarios runs the scenarios of testdata/scenarios. They are the first
// thing to read about what a partition does; docs/scenarios.md says how to
// write one. Packages question, preemption and group have more, of what they own.
func TestScenarios(t *testing.T) { scenariotest.Run(t, "testdata/scenarios") }
