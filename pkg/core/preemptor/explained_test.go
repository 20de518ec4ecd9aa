package preemptor_test

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/planned"
)

func init() {
	preemptor.Words.Summary, preemptor.Words.Explain = planned.Summary, planned.Explain
	preemptor.Words.Failure, preemptor.Words.Victim = planned.Failure, planned.Victim
}
