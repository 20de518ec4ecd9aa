package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/recipes"
)

const (
	recipeFiles = documents + "/examples/descheduler/recipes"
	recipePage  = recipeFiles + "/README.md"
)

// TestRecipes plays the recipes of the document: each has the policy of its file, prints what the document says, and
// evicts pods.
func TestRecipes(t *testing.T) {
	complete(t)
	page, err := os.ReadFile(recipePage)
	assert.NilError(t, err)
	found := recipes.Read(page)
	assert.Equal(t, len(found), 10)
	names, err := filepath.Glob(recipeFiles + "/*.yaml")
	assert.NilError(t, err)
	assert.Equal(t, len(names), 2*len(found), "a policy and a cluster for each")
	for _, r := range found {
		t.Run(r.Name, func(t *testing.T) {
			t.Chdir(recipeFiles)
			inFile, err := os.ReadFile(r.Value("policy-config-file"))
			assert.NilError(t, err)
			assert.Equal(t, r.Policy, string(inFile))
			var out, problems bytes.Buffer
			assert.Equal(t, Run(t.Context(), Streams{&out, &problems}, r.Arguments), exitDone, problems.String())
			assert.Equal(t, problems.String(), "")
			assert.Assert(t, !strings.Contains(out.String(), ": 0 pods would"), out.String())
			if golden.FlagUpdate() {
				page = r.Print(page, out.String())
				return
			}
			assert.Equal(t, r.Prints, out.String())
		})
	}
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(recipePage, page, 0o644))
	}
}

// TestClusterFile says what is wrong with a file, all of it and where.
func TestClusterFile(t *testing.T) {
	complete(t)
	policy := written(t, "policy.yaml", smallest+"profiles: [{plugins: {balance: {enabled: [RemoveDuplicates]}}}]\n")
	node := "{apiVersion: v1, kind: Node, metadata: {name: a}, spec: {}}\n---\n"
	for name, c := range map[string]struct {
		text, time string
		code       int
		want       string
	}{
		"usable":           {text: node, want: "cycle 1 was skipped: 0 nodes are selected and ready, and 2 are needed"},
		"nothing in it":    {text: "---\n", code: exitFailed, want: "there are no objects"},
		"no YAML":          {text: "a: b: c", code: exitFailed, want: "document 1: "},
		"no kind":          {text: node + "{metadata: {name: b}}", code: exitFailed, want: "object 2:  b: apiVersion or kind is missing"},
		"no name":          {text: "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod}]}", code: exitFailed, want: "object 1: Pod : metadata.name is missing"},
		"an unknown field": {text: node + "{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: c}, spec: {nodename: a}}", code: exitFailed, want: `object 2: Pod b: strict decoding error: unknown field "spec.nodename"`},
		"a wrong type":     {text: "{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: c}, spec: []}", code: exitFailed, want: "object 1: Pod c/b: "},
		"no time":          {text: node, time: "yesterday", code: exitUsage, want: `cluster-time: must be a time such as 2026-01-02T15:04:05Z, not "yesterday"`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			code := Run(t.Context(), Streams{&out, &out}, []string{"--policy-config-file", policy, "--cluster-file", written(t, "cluster.yaml", c.text), "--cluster-time", c.time})
			assert.Equal(t, code, c.code, out.String())
			assert.Assert(t, strings.Contains(out.String(), c.want), out.String())
		})
	}
}
