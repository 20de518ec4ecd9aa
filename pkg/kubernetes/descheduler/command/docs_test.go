package command

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

const (
	documents = "../../../../docs"
	document  = documents + "/descheduler.md"
)

// complete is the registry with all plugins. A build without the evict plugins has no policy
// that could be loaded.
func complete(t *testing.T) *framework.Registry {
	t.Helper()
	r, err := registry(nil)
	assert.NilError(t, err)
	if _, ok := r.Find("Eviction"); !ok {
		t.Skip("this build has no evict plugins")
	}
	return r
}

// loads loads a policy that must be right, and say nothing that is without effect. What is
// printed of it loads again.
func loads(t *testing.T, name string, text []byte) {
	t.Helper()
	f := &file{name: name, registry: complete(t), text: text}
	p, warnings, err := f.load()
	assert.NilError(t, err, "%s:\n%s", name, text)
	assert.Equal(t, len(warnings), 0, "%s: %v", name, warnings)
	printed := policy.Print(p, f.registry, f.options())
	f.text = printed
	again, _, err := f.load()
	assert.NilError(t, err, "%s:\n%s", name, printed)
	assert.Equal(t, string(policy.Print(again, f.registry, f.options())), string(printed))
}

// The examples load. Each is a policy on its own.
func TestExamplePoliciesLoad(t *testing.T) {
	files, err := filepath.Glob(documents + "/examples/descheduler/*.yaml")
	assert.NilError(t, err)
	assert.Assert(t, len(files) >= 12)
	for _, name := range files {
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		loads(t, name, text)
	}
}

// The policies in the manifests and in the chart are the same, and load.
func TestInstalledPolicyLoads(t *testing.T) {
	read := func(name string, into any) {
		text, err := os.ReadFile(documents + "/deploy/descheduler/" + name)
		assert.NilError(t, err)
		assert.NilError(t, yaml.Unmarshal(text, into))
	}
	var manifest struct{ Data map[string]string }
	read("kustomize/policy.yaml", &manifest)
	var values struct{ Policy string }
	read("chart/narwhal-descheduler/values.yaml", &values)
	assert.Equal(t, values.Policy, manifest.Data["policy.yaml"])
	loads(t, "kustomize/policy.yaml", []byte(values.Policy))
}

var block = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// Every policy in the documents loads.
func TestPoliciesOfTheDocumentsLoad(t *testing.T) {
	found := 0
	for _, page := range []string{document, recipePage} {
		text, err := os.ReadFile(page)
		assert.NilError(t, err)
		for _, match := range block.FindAllSubmatch(text, -1) {
			if bytes.HasPrefix(match[1], []byte("apiVersion: descheduler/")) {
				found++
				loads(t, page, match[1])
			}
		}
	}
	assert.Equal(t, found, 11)
}

// Every key of a policy, which the reader says it knows, is explained by the command keys.
func TestKeysAreExplained(t *testing.T) {
	const head = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n"
	m, keys := readMeanings(), 0
	for _, at := range []string{
		"%: 1", "limits: {%: 1}", "limits: {inFlight: {%: 1}}", "limits: {workloadRate: {%: 1}}", "limits: {coolDown: {%: 1}}",
		"metricsProviders: [{%: 1}]", "metricsProviders: [{prometheus: {%: 1}}]", "leaderElection: {%: 1}", "clientConnection: {%: 1}",
		"profiles: [{%: 1}]", "profiles: [{pluginConfig: [{%: 1}]}]", "profiles: [{plugins: {%: 1}}]", "profiles: [{plugins: {sort: {%: 1}}}]",
	} {
		_, _, err := policy.Load([]byte(head+strings.Replace(at, "%", "xxxxxxxxxxxxxxxxxxxx", 1)), new(framework.Registry), policy.Options{})
		_, known, ok := strings.Cut(err.Error(), "known here: ")
		assert.Assert(t, ok, err)
		known, _, _ = strings.Cut(known, "\n")
		within := strings.Join(regexp.MustCompile(`\w+: [\[{]`).FindAllString(at, -1), "")
		within = regexp.MustCompile(`: [\[{]`).ReplaceAllString(within, ".")
		for key := range strings.SplitSeq(known, ", ") {
			keys++
			assert.Check(t, m.explains(within, key), "%s%s", within, key)
		}
	}
	assert.Assert(t, keys > 50, "%d", keys)
}

// explains says whether a key is explained: by itself, by what is within it, or in the text of what it is in.
func (m *meanings) explains(within, key string) bool {
	for keys, text := range m.Keys {
		for one := range strings.SplitSeq(keys, ", ") {
			if one == within+key || strings.HasPrefix(one, within+key+".") || one+"." == within && strings.Contains(text, key) {
				return true
			}
		}
	}
	return false
}

// Every plugin and each of its arguments is explained, and nothing else is.
func TestPluginsAreExplained(t *testing.T) {
	r, m := complete(t), readMeanings()
	assert.DeepEqual(t, slices.Sorted(maps.Keys(m.Plugins)), r.Names())
	for name, plugin := range m.Plugins {
		assert.Check(t, plugin.About != "", name)
		d, _ := r.Find(name)
		var keys []string
		for _, a := range policy.Arguments(d) {
			keys = append(keys, a.Key)
			assert.Check(t, m.argument(name, a.Key) != "", "%s of %s", a.Key, name)
		}
		for explained := range plugin.Arguments {
			for key := range strings.SplitSeq(explained, ", ") {
				assert.Check(t, slices.Contains(keys, key), "%s has no argument %s", name, key)
			}
		}
	}
}

// What --validate says in the document is what it says of the first policy there with two mistakes.
func TestMistakesOfTheDocument(t *testing.T) {
	complete(t)
	text, err := os.ReadFile(document)
	assert.NilError(t, err)
	_, section, _ := strings.Cut(string(text), "\n### Policies\n")
	wrong := strings.NewReplacer("maxNoOfPodsToEvictTotal:", "maxNoOfPodsToEvictTotall:", "minReplicas: 2", "minReplicas: two").
		Replace(block.FindStringSubmatch(section)[1])
	t.Chdir(t.TempDir())
	assert.NilError(t, os.WriteFile("policy.yaml", []byte(wrong), 0o600))
	var out, problems bytes.Buffer
	code := Run(t.Context(), Streams{&out, &problems}, []string{"--policy-config-file", "policy.yaml", "--validate"})
	assert.Equal(t, code, exitUsage)
	said := "```\n" + out.String() + problems.String() + "```"
	assert.Assert(t, strings.Contains(section, said), "the document does not have\n%s", said)
}
