package command

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
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

// Every policy in the document loads.
func TestPoliciesOfTheDocumentLoad(t *testing.T) {
	text, err := os.ReadFile(document)
	assert.NilError(t, err)
	found := 0
	for _, match := range block.FindAllSubmatch(text, -1) {
		if bytes.HasPrefix(match[1], []byte("apiVersion: descheduler/")) {
			found++
			loads(t, document, match[1])
		}
	}
	assert.Assert(t, found >= 2, "%d", found)
}

// The document names every key of a policy: those that the reader says it knows.
func TestKeysAreInTheDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	assert.NilError(t, err)
	const head = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n"
	keys := 0
	for _, at := range []string{
		"%: 1", "limits: {%: 1}", "limits: {inFlight: {%: 1}}", "limits: {workloadRate: {%: 1}}", "limits: {coolDown: {%: 1}}",
		"metricsProviders: [{%: 1}]", "metricsProviders: [{prometheus: {%: 1}}]", "leaderElection: {%: 1}", "clientConnection: {%: 1}",
		"profiles: [{%: 1}]", "profiles: [{pluginConfig: [{%: 1}]}]", "profiles: [{plugins: {%: 1}}]", "profiles: [{plugins: {sort: {%: 1}}}]",
	} {
		_, _, err := policy.Load([]byte(head+strings.Replace(at, "%", "xxxxxxxxxxxxxxxxxxxx", 1)), new(framework.Registry), policy.Options{})
		_, known, ok := strings.Cut(err.Error(), "known here: ")
		assert.Assert(t, ok, err)
		known, _, _ = strings.Cut(known, "\n")
		for key := range strings.SplitSeq(known, ", ") {
			keys++
			pattern := regexp.MustCompile("`([A-Za-z]+\\.)*" + key + "[`:.]")
			assert.Assert(t, pattern.Match(text), "%s is not in %s", key, document)
		}
	}
	assert.Assert(t, keys > 50, "%d", keys)
}

// The table of plugins says what there is: the points and arguments of each plugin.
func TestTableOfPlugins(t *testing.T) {
	r := complete(t)
	text, err := os.ReadFile(document)
	assert.NilError(t, err)
	const head = "| plugin | points | what it does | arguments |\n|---|---|---|---|\n"
	before, rest, ok := strings.Cut(string(text), head)
	assert.Assert(t, ok)
	table, after, ok := strings.Cut(rest, "\n\n")
	assert.Assert(t, ok)
	does := map[string]string{}
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, " | ")
		assert.Equal(t, len(cells), 4, line)
		does[strings.Trim(cells[0], "| `")] = cells[2]
	}
	var want []string
	for _, name := range r.Names() {
		d, _ := r.Find(name)
		want = append(want, "| `"+name+"` | "+pointsOf(d)+" | "+does[name]+" | "+argumentsOf(d)+" |")
	}
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(document, []byte(before+head+strings.Join(want, "\n")+"\n\n"+after), 0o644))
		return
	}
	assert.Equal(t, table, strings.Join(want, "\n"))
	for _, name := range r.Names() {
		assert.Assert(t, does[name] != "", "say what %s does", name)
	}
	assert.Assert(t, slices.Contains(r.Names(), "DefaultEvictor"))
}

// A key is the name of an argument in a list of them.
var key = regexp.MustCompile("(^|, )`(\\w+)")

// Every argument of every plugin is explained, in the document or, of migrations, in theirs.
func TestArgumentsAreExplained(t *testing.T) {
	r := complete(t)
	text, err := os.ReadFile(document)
	assert.NilError(t, err)
	_, section, ok := strings.Cut(string(text), "\n### Arguments\n")
	assert.Assert(t, ok)
	section, _, _ = strings.Cut(section, "\n### ")
	migrations, err := os.ReadFile(documents + "/migrations.md")
	assert.NilError(t, err)
	arguments := 0
	for _, name := range r.Names() {
		d, _ := r.Find(name)
		in := section
		if name == "MigrationController" {
			in = string(migrations)
		}
		for _, found := range key.FindAllStringSubmatch(argumentsOf(d), -1) {
			arguments++
			row := regexp.MustCompile("(?m)^\\|.*`([a-z]+Args\\.|[A-Za-z]+\\.)?" + found[2] + "[`.:]")
			assert.Check(t, row.MatchString(in), "%s of %s is in no table", found[2], name)
		}
	}
	assert.Assert(t, arguments > 90, "%d", arguments)
}

// What --validate says in the document is what it says of the first policy there with two mistakes.
func TestMistakesOfTheDocument(t *testing.T) {
	complete(t)
	text, err := os.ReadFile(document)
	assert.NilError(t, err)
	_, section, _ := strings.Cut(string(text), "\n## A policy\n")
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
