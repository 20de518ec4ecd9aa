package deploy_test

import (
	"errors"
	"io"
	"io/fs"
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

// Folders of manifests and charts.
const (
	scheduler, schedulerChart     = "kustomize", "chart/narwhal"
	descheduler, deschedulerChart = "descheduler/kustomize", "descheduler/chart/narwhal-descheduler"
)

// kustomized is what kustomize makes of a folder.
func kustomized(t *testing.T, of string) map[string]object {
	t.Helper()
	return kustomizedFrom(t, filesys.MakeFsOnDisk(), filepath.Join(folder, of))
}

func kustomizedFrom(t *testing.T, files filesys.FileSystem, of string) map[string]object {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, of)
	assert.NilError(t, err)
	text, err := built.AsYaml()
	assert.NilError(t, err)
	return objects(t, string(text))
}

// rendered is what Helm makes of a chart.
func rendered(t *testing.T, of string, values object) map[string]object {
	t.Helper()
	text, err := manifests(t, of, values, chartutil.ReleaseOptions{Name: "narwhal", Namespace: "narwhal"}, nil)
	assert.NilError(t, err)
	return objects(t, text)
}

// manifests is what Helm makes of a chart, as text, or why it refuses the values. No capabilities are those of an API
// server without further groups.
func manifests(t *testing.T, of string, values object, release chartutil.ReleaseOptions, serves *chartutil.Capabilities) (string, error) {
	t.Helper()
	chart, err := loader.Load(filepath.Join(folder, of))
	assert.NilError(t, err)
	all, err := chartutil.ToRenderValues(chart, values, release, serves)
	if err != nil {
		return "", err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return "", err
	}
	var text []string
	for name, file := range files {
		if strings.HasSuffix(name, ".yaml") {
			text = append(text, file)
		}
	}
	return strings.Join(text, "\n---\n"), nil
}

// The chart with its own values and the manifests of kustomize install the same. They keep the
// pods of other schedulers.
func TestChartAndKustomizeInstallTheSame(t *testing.T) {
	container := at(kustomized(t, scheduler)["Deployment/narwhal-scheduler"], "spec", "template", "spec", "containers").([]any)[0]
	assert.Assert(t, slices.Contains(at(container, "args").([]any), any("--keep-foreign-pods=true")))
	same(t, kustomized(t, scheduler), rendered(t, schedulerChart, nil), "narwhal-scheduler")
	same(t, kustomized(t, descheduler), rendered(t, deschedulerChart, nil), "narwhal-descheduler")
	same(t, withComponents(t), rendered(t, deschedulerChart, object{"allow": object{"delete": true, "soft": true, "migration": true, "drain": true}}), "narwhal-descheduler")
}

// same compares what kustomize and Helm install.
func same(t *testing.T, want, got map[string]object, deployment string) {
	t.Helper()
	delete(want, "Namespace/narwhal") // Helm makes it when it is asked to
	container := at(got["Deployment/"+deployment], "spec", "template", "spec", "containers").([]any)[0].(object)
	delete(container, "imagePullPolicy") // which has a default
	assert.Equal(t, cmp.Diff(want, got), "")
}

// withComponents is the descheduler with all that its evict plugins may need.
func withComponents(t *testing.T) map[string]object {
	t.Helper()
	files := filesys.MakeFsInMemory()
	root := os.DirFS(filepath.Join(folder, descheduler))
	assert.NilError(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, name)
		assert.NilError(t, err)
		return files.WriteFile("/base/"+name, text)
	}))
	overlay := "resources: [../base]\ncomponents: [../base/delete, ../base/soft, ../base/migration, ../base/drain]\n"
	assert.NilError(t, files.WriteFile("/all/kustomization.yaml", []byte(overlay)))
	return kustomizedFrom(t, files, "/all")
}

func TestValuesOfTheChart(t *testing.T) {
	got := rendered(t, schedulerChart, object{
		"replicas": 3, "image": object{"repository": "example.org/narwhal", "tag": "v1"}, "args": []any{"--scheduler-name=yunikorn"},
		"keepForeignPods": false, "queues": "partitions: []\n", "settings": object{"log.level": "debug"}, "priorityClassName": "", "admissionPolicy": true,
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
	assert.Assert(t, slices.Contains(at(container, "args").([]any), any("--keep-foreign-pods=false")))
	assert.Equal(t, at(container, "resources"), nil)
	assert.DeepEqual(t, at(got["ConfigMap/narwhal-config"], "data"), object{"queues.yaml": "partitions: []\n", "log.level": "debug"})

	assert.Assert(t, mayEvict(got) && !mayEvict(rendered(t, schedulerChart, nil)), "a scheduler that keeps the pods of other ones evicts none")
	assert.Equal(t, hasAdmission(t, got, "policy.yaml", "users.yaml", "users-check.yaml"), 6)
}

// mayEvict reports whether the scheduler may create evictions.
func mayEvict(objects map[string]object) bool {
	return slices.ContainsFunc(at(objects["ClusterRole/narwhal-scheduler"], "rules").([]any), func(rule any) bool {
		return slices.Contains(at(rule, "resources").([]any), any("pods/eviction"))
	})
}

// hasAdmission compares policies with what Helm installs, and returns how many there are.
func hasAdmission(t *testing.T, got map[string]object, files ...string) int {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(folder, "admission", file))
		assert.NilError(t, err)
		for name, want := range objects(t, string(text)) {
			assert.Equal(t, cmp.Diff(want, got[name]), "")
		}
	}
	count := 0
	for name := range got {
		if strings.Contains(name, "AdmissionPolicy") {
			count++
		}
	}
	return count
}

// REST needs tokens unless that is switched off; then there are no roles for it.
func TestAuthOfTheChart(t *testing.T) {
	for _, on := range []bool{true, false} {
		got := rendered(t, schedulerChart, object{"kubernetesAuth": on})
		container := at(got["Deployment/narwhal-scheduler"], "spec", "template", "spec", "containers").([]any)[0]
		assert.Equal(t, slices.Contains(at(container, "args").([]any), any("--kubernetes-auth=true")), on)
		assert.Equal(t, got["ClusterRoleBinding/narwhal-scheduler-auth"] != nil && got["ServiceAccount/narwhal-reader"] != nil, on)
	}
}

// The Service selects the replica that leads, which may mark its pod in its own namespace and no pod elsewhere. All replicas
// are ready, so that they can be replaced one by one.
func TestServiceSelectsTheLeader(t *testing.T) {
	for name, of := range map[string]string{"narwhal-scheduler": scheduler, "narwhal-descheduler": descheduler} {
		got := kustomized(t, of)
		pod := at(got["Deployment/"+name], "spec", "template", "spec")
		assert.DeepEqual(t, at(at(pod, "containers").([]any)[0], "env").([]any)[0], object{
			"name": "POD_NAME", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.name"}},
		})
		assert.DeepEqual(t, at(got["Service/"+name], "spec", "selector"), object{"app": name, "narwhal-scheduler.io/leader": name})
		assert.Equal(t, at(got["Deployment/"+name], "spec", "strategy"), nil)
		mayPatch := func(role string) bool {
			return slices.ContainsFunc(at(got[role], "rules").([]any), func(rule any) bool {
				resources, _ := at(rule, "resources").([]any)
				return slices.Contains(resources, any("pods")) && slices.Contains(at(rule, "verbs").([]any), any("patch"))
			})
		}
		assert.Assert(t, mayPatch("Role/"+name) && !mayPatch("ClusterRole/"+name), name)
	}
}

// Without placeholders the scheduler creates no pods, and has gangs run without them.
func TestPlaceholdersOfTheChart(t *testing.T) {
	got := rendered(t, schedulerChart, object{"placeholders": false})
	few(t, got, map[string][]string{
		"pods": {"delete", "patch"}, "configmaps": {"create", "update"}, "pods/binding": {"create"}, "bindings": {"create"}, "pods/status": {"patch", "update"},
		"persistentvolumes": {"patch", "update"}, "persistentvolumeclaims": {"patch", "update"},
		"events": {"create", "patch", "update"}, "leases": {"create", "update"}, "podgroups/status": {"patch"},
		"resourceclaims": {"patch", "update"}, "resourceclaims/status": {"patch", "update"}, "resourceclaims/binding": {"patch", "update"},
	})
	assert.Equal(t, got["ClusterRoleBinding/narwhal-scheduler-placeholders"] == nil, true)
	assert.Equal(t, at(got["ConfigMap/narwhal-config"], "data", "service.disableGangScheduling"), "true")
}

// Users can be checked where the API server cannot write them. Service accounts of more namespaces
// may create pods for them.
func TestAdmissionOfTheChart(t *testing.T) {
	assert.Equal(t, hasAdmission(t, rendered(t, schedulerChart, nil)), 0)
	assert.Equal(t, hasAdmission(t, rendered(t, schedulerChart, object{"admissionCheck": true}), "users-check.yaml"), 2)
	got := rendered(t, schedulerChart, object{"admissionPolicy": true, "trustedNamespaces": []any{"kube-system", "spark"}})
	for _, kind := range []string{"Mutating", "Validating"} {
		condition := at(at(got[kind+"AdmissionPolicy/narwhal-users"], "spec", "matchConditions").([]any)[0], "expression").(string)
		assert.Assert(t, strings.HasSuffix(condition,
			`["system:serviceaccounts:kube-system", "system:serviceaccounts:spark", "system:serviceaccounts:narwhal", "system:nodes"])`), condition)
	}
}

func TestValuesOfTheDescheduler(t *testing.T) {
	got := rendered(t, deschedulerChart, object{
		"replicas": 2, "image": object{"repository": "example.org/narwhal", "tag": "v1"}, "args": []any{"--dry-run"}, "interval": "1h",
		"policy": "kind: X\n", "schedulerConfigMap": "queues", "priorityClassName": "", "allow": object{"soft": true},
		"nodeSelector": object{"role": "control"}, "tolerations": []any{object{"operator": "Exists"}}, "resources": object{"limits": nil, "requests": nil},
	})
	deployment := got["Deployment/narwhal-descheduler"]
	assert.Equal(t, at(deployment, "spec", "replicas"), float64(2))
	pod := at(deployment, "spec", "template", "spec")
	assert.Equal(t, at(pod, "priorityClassName"), nil)
	assert.DeepEqual(t, at(pod, "nodeSelector"), object{"role": "control"})
	container := at(pod, "containers").([]any)[0]
	assert.Equal(t, at(container, "image"), "example.org/narwhal:v1")
	for _, arg := range []string{"--dry-run", "--descheduling-interval=1h", "--scheduler-config-map=queues"} {
		assert.Assert(t, slices.Contains(at(container, "args").([]any), any(arg)), arg)
	}
	assert.Equal(t, at(container, "resources"), nil)
	assert.DeepEqual(t, at(got["ConfigMap/narwhal-descheduler"], "data"), object{"policy.yaml": "kind: X\n"})
	read := at(got["Role/narwhal-descheduler"], "rules").([]any)[0]
	assert.DeepEqual(t, at(read, "resourceNames"), []any{"queues"})
	assert.Assert(t, got["ClusterRole/narwhal-descheduler-soft"] != nil && got["ClusterRole/narwhal-descheduler-delete"] == nil)
}

// The scheduler may not do more than the shim does, nor the descheduler more than its evict
// plugins do: no role names all verbs, all resources or secrets, and what changes the
// cluster is on a short list.
func TestPrivilegesAreFew(t *testing.T) {
	few(t, kustomized(t, scheduler), map[string][]string{
		"pods": {"create", "delete", "patch"}, "configmaps": {"create", "update"}, "pods/binding": {"create"}, "bindings": {"create"}, "pods/status": {"patch", "update"},
		"persistentvolumes": {"patch", "update"}, "persistentvolumeclaims": {"patch", "update"},
		"events": {"create", "patch", "update"}, "leases": {"create", "update"}, "podgroups/status": {"patch"},
		"resourceclaims": {"patch", "update"}, "resourceclaims/status": {"patch", "update"}, "resourceclaims/binding": {"patch", "update"},
	})
	changes := map[string][]string{
		"pods": {"patch"}, "pods/eviction": {"create"}, "events": {"create", "patch", "update"}, "leases": {"create", "update"},
	}
	few(t, kustomized(t, descheduler), changes)
	changes["pods"] = []string{"create", "delete", "patch"}
	changes["podmigrationjobs"], changes["podmigrationjobs/status"] = []string{"create", "update", "delete"}, []string{"update"}
	changes["nodes"] = []string{"patch"}
	few(t, withComponents(t), changes)
}

// Roles have no versions: both programs may read pod groups in each that an API server serves.
func TestPodGroupsMayBeRead(t *testing.T) {
	for role, of := range map[string][]map[string]object{
		"ClusterRole/narwhal-scheduler":   {kustomized(t, scheduler), rendered(t, schedulerChart, nil)},
		"ClusterRole/narwhal-descheduler": {kustomized(t, descheduler), rendered(t, deschedulerChart, nil)},
	} {
		for _, objects := range of {
			assert.Assert(t, slices.ContainsFunc(at(objects[role], "rules").([]any), func(rule any) bool {
				resources, _ := at(rule, "resources").([]any) // none, of URLs
				return slices.Contains(resources, any("podgroups")) && slices.Contains(at(rule, "apiGroups").([]any), any("scheduling.k8s.io")) &&
					slices.Equal(at(rule, "verbs").([]any), []any{"get", "list", "watch"})
			}), role)
		}
	}
}

// few checks that roles change nothing but what is listed.
func few(t *testing.T, objects map[string]object, changes map[string][]string) {
	t.Helper()
	for name, o := range objects {
		if kind := at(o, "kind"); kind != "ClusterRole" && kind != "Role" {
			continue
		}
		for _, rule := range at(o, "rules").([]any) {
			resources, _ := at(rule, "resources").([]any) // none, of URLs
			for _, resource := range resources {
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
	for _, program := range []string{"narwhal-scheduler", "narwhal-descheduler", "kubectl-narwhal"} {
		_, err := os.Stat(filepath.Join("../cmd", program, "main.go"))
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(string(text), "/out/"+program))
	}
}
