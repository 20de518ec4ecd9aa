package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"helm.sh/helm/v3/pkg/strvals"
)

const image = "REGISTRY/narwhal-scheduler"

// TestCommandsOfTheDocuments does what the pages have users do to install the programs, as far as that needs no cluster.
func TestCommandsOfTheDocuments(t *testing.T) {
	ran := map[string]int{}
	for _, name := range []string{"kubernetes.md", "descheduler.md"} {
		page, err := os.ReadFile(filepath.Join("../../../docs", name))
		assert.NilError(t, err)
		for _, found := range regexp.MustCompile(`(?m)^(docker build|helm install|cd docs/deploy|kubectl (?:apply -f|label namespace|get --raw)) .*$|^cd docs/deploy.*$`).FindAllString(string(page), -1) {
			fields := strings.Fields(found)
			ran[strings.Join(fields[:2], " ")]++
			switch {
			case fields[0] == "docker":
				_, err := os.Stat(fromRoot(after(t, fields, "-f")))
				assert.NilError(t, err, found)
			case fields[0] == "helm":
				values := object{}
				assert.NilError(t, strvals.ParseInto(after(t, fields, "--set"), values))
				assert.Assert(t, runs(rendered(t, strings.TrimPrefix(fields[3], "docs/deploy/"), values), image), found)
			case fields[0] == "cd":
				assert.Assert(t, strings.HasSuffix(found, "kustomize edit set image narwhal-scheduler="+image+" && kubectl apply -k ."), found)
				assert.Assert(t, runs(kustomized(t, strings.TrimPrefix(fields[1], "docs/deploy/")), "narwhal-scheduler"), found)
			case fields[1] == "apply":
				for i, field := range fields {
					if field == "-f" {
						text, err := os.ReadFile(fromRoot(fields[i+1]))
						assert.NilError(t, err)
						assert.Assert(t, len(objects(t, string(text))) > 0, found)
					}
				}
			case fields[1] == "label":
				text, err := os.ReadFile(filepath.Join(folder, "admission/policy.yaml"))
				assert.NilError(t, err)
				key, value, _ := strings.Cut(fields[4], "=")
				assert.Assert(t, regexp.MustCompile(key+`: "?`+value+`\b`).Match(text), found)
			default: // the proxy of the API server, to the port of a service
				service := regexp.MustCompile(`/namespaces/narwhal/services/([a-z-]+):([a-z]+)/proxy/why/`).FindStringSubmatch(found)
				assert.Assert(t, service != nil, found)
				assert.Equal(t, at(at(kustomized(t, descheduler)["Service/"+service[1]], "spec", "ports").([]any)[0], "name"), service[2])
			}
		}
	}
	assert.DeepEqual(t, ran, map[string]int{
		"docker build": 1, "helm install": 2, "cd docs/deploy/kustomize": 1, "cd docs/deploy/descheduler/kustomize": 1,
		"kubectl apply": 2, "kubectl label": 1, "kubectl get": 1,
	})
}

// fromRoot is a path of the repository.
func fromRoot(path string) string { return filepath.Join("../../..", path) }

// after is the argument behind a flag.
func after(t *testing.T, fields []string, flag string) string {
	t.Helper()
	for i, field := range fields[:len(fields)-1] {
		if field == flag {
			return fields[i+1]
		}
	}
	t.Fatalf("%v has no %s", fields, flag)
	return ""
}

// runs says whether the container of a Deployment among the objects has an image of that name.
func runs(all map[string]object, image string) bool {
	for name, o := range all {
		if strings.HasPrefix(name, "Deployment/") {
			containers := at(o, "spec", "template", "spec", "containers").([]any)
			return strings.HasPrefix(at(containers[0], "image").(string), image)
		}
	}
	return false
}
