package selection

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestNamesOfNamespaces: what no namespace can be called would select nothing, so it is refused.
func TestNamesOfNamespaces(t *testing.T) {
	assert.NilError(t, (*Names)(nil).Namespaces("namespaces"))
	assert.NilError(t, Pods{Namespaces: &Names{Include: []string{"a", "kube-system"}}}.Validate())
	assert.Error(t, Pods{Namespaces: &Names{Exclude: []string{"kube-*", "a", ""}}}.Validate(),
		"namespaces.exclude[0]: must be the name of a namespace, not \"kube-*\"\nnamespaces.exclude[2]: must be the name of a namespace, not \"\"")
}

// TestListed: each value has its place, and what was probably meant.
func TestListed(t *testing.T) {
	assert.NilError(t, Listed("states", []string{"Running"}, []string{"Running", "Pending"}))
	assert.Error(t, Listed("states", []string{"running", "Gone", "Running", "Running"}, []string{"Running", "Pending"}),
		"states[0]: \"running\" is not known, did you mean Running?\nstates[1]: \"Gone\" is not known, known here: Running, Pending\nstates[3]: \"Running\" is there twice")
}
