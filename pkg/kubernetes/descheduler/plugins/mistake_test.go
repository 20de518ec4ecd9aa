package plugins_test

import (
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// A mistake is arguments that a plugin refuses, and parts of what it says of them.
type mistake struct {
	of   framework.Definition
	args any
	want []string
}

// isNamed sees to it that each part is said, and that no plugin is made with the arguments.
func (m mistake) isNamed(t *testing.T) {
	t.Helper()
	for _, part := range m.want {
		assert.ErrorContains(t, m.of.Validate(m.args), part)
	}
	_, err := m.of.New(t.Context(), m.args, nil)
	assert.Assert(t, err != nil)
}

// unselectable has two mistakes: names of two kinds, and a selector with an unknown operator.
var unselectable = selection.Pods{
	Namespaces:    &selection.Names{Include: []string{"a"}, Exclude: []string{"b"}},
	LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Of"}}},
}
