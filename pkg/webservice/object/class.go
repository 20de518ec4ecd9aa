package object

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// The classes of asks that are no classes of victims: how an ask is placed comes first.
const (
	daemonSet   = "daemonset"
	placeholder = "placeholder"
)

var askClasses = []string{daemonSet, placeholder, preemptor.OptedOut.String(), preemptor.Owner.String(), preemptor.Regular.String()}

// AskClasses are the classes that asks can be picked by, as REST names them.
func AskClasses() []string { return slices.Clone(askClasses) }

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

// askClassTest picks asks of a class.
func askClassTest(value string) (func(*api.AskView) bool, error) {
	return func(a *api.AskView) bool { return classOf(a.Allocation) == value }, query.OneOf("class", value, askClasses)
}
