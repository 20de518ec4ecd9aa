package deploy_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const folder = "../../../docs/deploy"

type object = map[string]any

// objects reads a stream of YAML, by kind and name.
func objects(t *testing.T, text string) map[string]object {
	t.Helper()
	all := map[string]object{}
	documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var o object
		err := documents.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		assert.NilError(t, err)
		if o != nil {
			name := at(o, "kind").(string) + "/" + at(o, "metadata", "name").(string)
			assert.Assert(t, all[name] == nil, "%s is there twice", name)
			all[name] = o
		}
	}
}

// at is what stands at a path of keys, nil if it is not there.
func at(o any, path ...string) any {
	for _, key := range path {
		members, _ := o.(object)
		o = members[key]
	}
	return o
}

func kustomized(t *testing.T) map[string]object {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(folder, "kustomize"))
	assert.NilError(t, err)
	text, err := built.AsYaml()
	assert.NilError(t, err)
	return objects(t, string(text))
}

func rendered(t *testing.T, values object) map[string]object {
	t.Helper()
	chart, err := loader.Load(filepath.Join(folder, "chart/narwhal"))
	assert.NilError(t, err)
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "narwhal", Namespace: "narwhal"}, nil)
	assert.NilError(t, err)
	strict := engine.Engine{Strict: true}
	files, err := strict.Render(chart, all)
	assert.NilError(t, err)
	var text []string
	for _, file := range files {
		text = append(text, file)
	}
	return objects(t, strings.Join(text, "\n---\n"))
}

// The chart with its own values and the manifests of kustomize install the same.
func TestChartAndKustomizeInstallTheSame(t *testing.T) {
	want := kustomized(t)
	delete(want, "Namespace/narwhal") // Helm makes it when it is asked to
	got := rendered(t, nil)
	container := func(o object) object {
		return at(o, "spec", "template", "spec", "containers").([]any)[0].(object)
	}
	delete(container(got["Deployment/narwhal-scheduler"]), "imagePullPolicy") // which has a default
	assert.Equal(t, cmp.Diff(want, got), "")
}

func TestValuesOfTheChart(t *testing.T) {
	got := rendered(t, object{
		"replicas": 3, "image": object{"repository": "example.org/narwhal", "tag": "v1"}, "args": []any{"--scheduler-name=yunikorn"},
		"queues": "partitions: []\n", "settings": object{"log.level": "debug"}, "priorityClassName": "", "admissionPolicy": true,
		"nodeSelector": object{"role": "control"}, "tolerations": []any{object{"operator": "Exists"}}, "resources": object{"limits": nil, "requests": nil},
	})
	deployment := got["Deployment/narwhal-scheduler"]
	assert.Equal(t, at(deployment, "spec", "replicas"), float64(3))
	pod := at(deployment, "spec", "template", "spec")
	assert.Equal(t, at(pod, "priorityClassName"), nil)
	assert.DeepEqual(t, at(pod, "nodeSelector"), object{"role": "control"})
	assert.DeepEqual(t, at(pod, "tolerations"), []any{object{"operator": "Exists"}})
	container := at(pod, "containers").([]any)[0]
	assert.Equal(t, at(container, "image"), "example.org/narwhal:v1")
	assert.Assert(t, slices.Contains(at(container, "args").([]any), any("--scheduler-name=yunikorn")))
	assert.Equal(t, at(container, "resources"), nil)
	assert.DeepEqual(t, at(got["ConfigMap/narwhal-config"], "data"), object{"queues.yaml": "partitions: []\n", "log.level": "debug"})

	text, err := os.ReadFile(filepath.Join(folder, "admission/policy.yaml"))
	assert.NilError(t, err)
	for name, want := range objects(t, string(text)) {
		assert.Equal(t, cmp.Diff(want, got[name]), "")
	}
}

// The scheduler may not do more than the shim does: no role names all verbs, all resources
// or secrets, and what changes the cluster is on a short list.
func TestPrivilegesAreFew(t *testing.T) {
	changes := map[string][]string{
		"pods": {"delete"}, "pods/binding": {"create"}, "bindings": {"create"}, "pods/status": {"patch", "update"},
		"persistentvolumes": {"patch", "update"}, "persistentvolumeclaims": {"patch", "update"},
		"events": {"create", "patch", "update"}, "leases": {"create", "update"},
		"resourceclaims": {"patch", "update"}, "resourceclaims/status": {"patch", "update"}, "resourceclaims/binding": {"patch", "update"},
	}
	for name, o := range kustomized(t) {
		if kind := at(o, "kind"); kind != "ClusterRole" && kind != "Role" {
			continue
		}
		for _, rule := range at(o, "rules").([]any) {
			for _, resource := range at(rule, "resources").([]any) {
				for _, verb := range at(rule, "verbs").([]any) {
					reads := slices.Contains([]any{"get", "list", "watch"}, verb)
					assert.Assert(t, reads || slices.Contains(changes[resource.(string)], verb.(string)), "%s: %s of %s", name, verb, resource)
					assert.Assert(t, resource != "secrets" && resource != "*", "%s: %s", name, resource)
				}
			}
		}
	}
}

// The image has the programs that the manifests start.
func TestDockerfileBuildsWhatIsStarted(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(folder, "Dockerfile"))
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(text), `ENTRYPOINT ["/narwhal-scheduler"]`))
	for _, program := range []string{"narwhal-scheduler", "kubectl-narwhal"} {
		_, err := os.Stat(filepath.Join("../cmd", program, "main.go"))
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(string(text), "/out/"+program))
	}
}
