package webservice

import (
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// The classes of asks that are no classes of victims: how an ask is placed comes first.
const (
	daemonSet   = "daemonset"
	placeholder = "placeholder"
)

var (
	askClasses    = []string{daemonSet, placeholder, preemptor.OptedOut.String(), preemptor.Owner.String(), preemptor.Regular.String()}
	victimClasses = []string{preemptor.Regular.String(), preemptor.Owner.String(), preemptor.Foreign.String(), preemptor.OptedOut.String()}
)

// AskClasses are the classes that asks can be picked by, as REST names them.
func AskClasses() []string { return slices.Clone(askClasses) }

// VictimClasses are those that preemptions can be picked by.
func VictimClasses() []string { return slices.Clone(victimClasses) }

// classOf is what an ask is, in one word.
func classOf(a *api.Allocation) string {
	switch {
	case a.Required != "":
		return daemonSet
	case a.Placeholder:
		return placeholder
	default:
		return a.Class().String()
	}
}

func checkClass(name string, known []string) error {
	if !slices.Contains(known, name) {
		return failure.Bad("Parameter class is %.40q: one of %s is needed", name, strings.Join(known, ", "))
	}
	return nil
}

// askClassTest picks asks of a class.
func askClassTest(value string) (func(*api.AskView) bool, error) {
	return func(a *api.AskView) bool { return classOf(a.Allocation) == value }, checkClass(value, askClasses)
}

// victimClassTest picks plans with a victim of a class.
func victimClassTest(value string) (func(*archive.Plan) bool, error) {
	return func(p *archive.Plan) bool {
		return slices.ContainsFunc(p.Victims, func(v archive.Victim) bool { return v.Class.String() == value })
	}, checkClass(value, victimClasses)
}
