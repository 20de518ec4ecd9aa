package command

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

const recipes = documents + "/examples/descheduler/recipes"

// recipe is a policy in the document, and what is printed with it.
var recipe = regexp.MustCompile("(?s)(### [^\n]*\n[^#]*?\n```yaml\n)([^`]*)(```\n\n```\n\\$ " + program + " )([^\n]*)\n(.*?)(```\n)")

// TestRecipes plays the recipes of the document: each has the policy of its file, prints what the document says, and
// evicts pods.
func TestRecipes(t *testing.T) {
	complete(t)
	text, err := os.ReadFile(document)
	assert.NilError(t, err)
	found := recipe.FindAllSubmatch(text, -1)
	assert.Equal(t, len(found), 10)
	names, err := os.ReadDir(recipes)
	assert.NilError(t, err)
	assert.Equal(t, len(names), 2*len(found), "a policy and a cluster for each")
	for _, f := range found {
		heading, _, _ := strings.Cut(string(f[1]), "\n")
		t.Run(strings.TrimLeft(heading, "# "), func(t *testing.T) {
			args := strings.Fields(string(f[4]))
			t.Chdir(recipes)
			inFile, err := os.ReadFile(args[1])
			assert.NilError(t, err)
			assert.Equal(t, string(f[2]), string(inFile))
			var out, problems bytes.Buffer
			assert.Equal(t, Run(t.Context(), Streams{&out, &problems}, args), exitDone, problems.String())
			assert.Equal(t, problems.String(), "")
			assert.Assert(t, !strings.Contains(out.String(), ": 0 pods would"), out.String())
			if golden.FlagUpdate() {
				text = bytes.Replace(text, f[0], bytes.Join([][]byte{f[1], f[2], f[3], f[4], []byte("\n"), out.Bytes(), f[6]}, nil), 1)
				return
			}
			assert.Equal(t, string(f[5]), out.String())
		})
	}
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(document, text, 0o644))
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
