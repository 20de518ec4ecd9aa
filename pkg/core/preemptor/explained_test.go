package preemptor_test

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
)

func init() {
	preemptor.Words.Summary, preemptor.Words.Explain = explain.Summary, explain.Decision
	preemptor.Words.Failure, preemptor.Words.Victim = explain.FailureText, explain.VictimText
}
