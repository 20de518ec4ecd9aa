package deploy_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// An expectation is a line "#! verb text" of a file of values.
var expectation = regexp.MustCompile(`(?m)^#! (\S+) (.*)$`)

// A release is how a chart is installed.
type release struct {
	chart           string
	name, namespace string
	serves          []string // beside what all API servers serve
}

// A file of values is a way in which the chart is installed. It says in comments what comes of it: what some line of the
// manifests has or lacks, or why it is refused; with the chart, the name and namespace of the release, and what the API server
// serves, where these matter. Every file is linted, and what it makes is understood by the API server and fits together.
func TestValuesFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/values/*.yaml")
	assert.NilError(t, err)
	assert.Assert(t, len(files) >= 20)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			assert.NilError(t, err)
			var values object
			assert.NilError(t, yaml.UnmarshalStrict(content, &values))
			of := release{chart: schedulerChart, name: "narwhal", namespace: "narwhal"}
			expected := expectation.FindAllStringSubmatch(string(content), -1)
			refused := ""
			for _, e := range expected {
				switch e[1] {
				case "chart":
					of.chart = deschedulerChart
				case "release":
					of.name, of.namespace, _ = strings.Cut(e[2], " ")
				case "serves":
					of.serves = append(of.serves, e[2])
				case "refused":
					refused = e[2]
				}
			}
			text, err := manifestsOf(t, values, of)
			if refused != "" {
				assert.ErrorContains(t, err, refused)
				return
			}
			assert.NilError(t, err)
			linted(t, of.chart, values)
			for _, e := range expected {
				assert.Assert(t, e[1] != "has" || strings.Contains(text, e[2]), "there is no %q", e[2])
				assert.Assert(t, e[1] != "lacks" || !strings.Contains(text, e[2]), "there is %q", e[2])
			}
			fits(t, objects(t, text))
		})
	}
}

// manifestsOf is what Helm installs in a release, or why it does not.
func manifestsOf(t *testing.T, values object, of release) (string, error) {
	t.Helper()
	capabilities := *chartutil.DefaultCapabilities
	capabilities.APIVersions = append(slices.Clone(capabilities.APIVersions), of.serves...)
	return manifests(t, of.chart, values, chartutil.ReleaseOptions{Name: of.name, Namespace: of.namespace}, &capabilities)
}

// linted has Helm judge a chart. That it has no icon is no fault.
func linted(t *testing.T, chart string, values object) {
	t.Helper()
	var found []error
	for _, m := range lint.All(filepath.Join(folder, chart), values, "narwhal", true).Messages {
		if m.Severity >= support.WarningSev {
			found = append(found, m)
		}
	}
	assert.NilError(t, errors.Join(found...))
}

// The kustomizations as they are and the policies are understood by the API server too.
func TestManifestsAreUnderstood(t *testing.T) {
	for _, all := range []map[string]object{kustomized(t, scheduler), kustomized(t, descheduler), withComponents(t)} {
		fits(t, all)
	}
	for _, file := range []string{"policy.yaml", "users.yaml", "users-check.yaml"} {
		text, err := os.ReadFile(filepath.Join(folder, "admission", file))
		assert.NilError(t, err)
		for _, o := range objects(t, string(text)) {
			understood(t, o)
		}
		// A label has at most 63 letters, as many as the name of a namespace alone may have.
		assert.Assert(t, !strings.Contains(string(text), "metadata{labels"), file)
	}
}

// understood has every field of an object read, strictly, as the API server reads it. Kinds of other programs are not known.
func understood(t *testing.T, o object) {
	t.Helper()
	text, err := yaml.Marshal(o)
	assert.NilError(t, err)
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	_, _, err = strict.Decode(text, nil, nil)
	if !runtime.IsNotRegisteredError(err) {
		assert.NilError(t, err, "%s", text)
	}
}

// fits checks objects by themselves, and that what they name is there.
func fits(t *testing.T, all map[string]object) {
	t.Helper()
	pods := labels.Set{}
	for name, o := range all {
		understood(t, o)
		kind, own, _ := strings.Cut(name, "/")
		if kind == "Service" || kind == "Deployment" {
			assert.Assert(t, len(validation.IsDNS1035Label(own)) == 0, name)
		}
		if kind == "Deployment" {
			pods = setOf(at(o, "spec", "template", "metadata", "labels"))
			account := at(o, "spec", "template", "spec", "serviceAccountName").(string)
			assert.Assert(t, all["ServiceAccount/"+account] != nil, "account %s", account)
			starts(t, at(o, "spec", "template", "spec"))
		}
		for label, value := range setOf(at(o, "metadata", "labels")) {
			assert.Assert(t, len(validation.IsValidLabelValue(value)) == 0, "%s: label %s", name, label)
		}
		if role, ok := at(o, "roleRef", "name").(string); ok && !strings.HasPrefix(role, "system:") {
			assert.Assert(t, all[at(o, "roleRef", "kind").(string)+"/"+role] != nil, "%s: role %s", name, role)
			for _, subject := range at(o, "subjects").([]any) {
				assert.Assert(t, all["ServiceAccount/"+at(subject, "name").(string)] != nil, "%s: %v", name, subject)
			}
		}
		if policy, ok := at(o, "spec", "policyName").(string); ok {
			assert.Assert(t, all[strings.TrimSuffix(kind, "Binding")+"/"+policy] != nil, "%s: policy %s", name, policy)
		}
	}
	for name, path := range map[string][]string{
		"Service": {"spec", "selector"}, "NetworkPolicy": {"spec", "podSelector", "matchLabels"}, "PodDisruptionBudget": {"spec", "selector", "matchLabels"},
	} {
		for of, o := range all {
			if strings.HasPrefix(of, name+"/") {
				wanted := setOf(at(o, path...))
				delete(wanted, "narwhal-scheduler.io/leader") // which the leader writes
				assert.Assert(t, len(wanted) > 0 && wanted.AsSelector().Matches(pods), "%s selects %v, not %v", of, wanted, pods)
			}
		}
	}
}

func setOf(o any) labels.Set {
	set := labels.Set{}
	members, _ := o.(object)
	for key, value := range members {
		set[key], _ = value.(string)
	}
	return set
}

// starts checks that the program of a pod has the flags that it is started with, and the pod the volumes that are mounted.
func starts(t *testing.T, pod any) {
	t.Helper()
	volumes := map[any]bool{}
	for _, volume := range list(at(pod, "volumes")) {
		volumes[at(volume, "name")] = true
	}
	container := at(pod, "containers").([]any)[0]
	for _, mount := range list(at(container, "volumeMounts")) {
		assert.Assert(t, volumes[at(mount, "name")], "volume %v", at(mount, "name"))
	}
	files := []string{"../command/command.go"}
	if at(container, "command") != nil {
		files = []string{"../descheduler/command/flags.go", "../descheduler/command/serve.go"}
	}
	var source []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		source = append(source, text...)
	}
	seen := map[string]bool{}
	for _, arg := range list(at(container, "args")) {
		flag, _, _ := strings.Cut(strings.TrimPrefix(arg.(string), "--"), "=")
		assert.Assert(t, strings.Contains(string(source), `, "`+flag+`", `), "the program has no flag %s", flag)
		seen[flag] = true
	}
	assert.Assert(t, !seen["token-file"] || !seen["kubernetes-auth"], "they exclude each other")
}

func list(o any) []any {
	members, _ := o.([]any)
	return members
}
