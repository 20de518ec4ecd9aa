package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	authentication "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

const proxy = "/api/v1/namespaces/narwhal/services/http:narwhal-scheduler:rest/proxy/ws/v1/partition/default/"

// answers are what the web service says in its own tests.
var answers = map[string]string{
	"queues": "queues", "nodes": "nodes", "asks": "asks", "groups": "startgroups", "domains": "domains", "preemptions": "preemptions", "whatif": "whatif",
	"usage/users": "users", "applications/active": "applications", "losses": "losses", "changes": "changes", "accounting": "accounting",
	"application/filler-app":                            "application",
	"application/agents-app/allocation/agent-1/explain": "explain",
}

// pod is a pod in namespace dev.
func pod(name string, uid types.UID, change func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name, UID: uid},
		Spec:       v1.PodSpec{SchedulerName: "narwhal"},
	}
	change(p)
	return p
}

// drained is a node of which the drain is blocked by a pod.
func drained(pod string) *v1.Node {
	since := metav1.Unix(1_000_000_000, 0)
	s := &drain.Status{State: drain.Blocked, Since: since, By: "taint maintenance=disk:NoSchedule", Left: 1, Pods: []drain.Pod{{Pod: pod, Why: "budget web allows no eviction now", Since: since}}}
	return &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "node-2", Annotations: map[string]string{drain.Annotation: s.Text()}}}
}

// cluster is an API server with a few pods and a service of the scheduler.
func cluster(t *testing.T, sent *string) string {
	pods := map[string]*v1.Pod{
		"agent-1": pod("agent-1", "agent-1", func(p *v1.Pod) { p.Labels = map[string]string{"applicationId": "agents-app"} }),
		"bound":   pod("bound", "uid-bound", func(p *v1.Pod) { p.Spec.NodeName = "node-1" }),
		"done":    pod("done", "uid-done", func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }),
		"gated":   pod("gated", "uid-gated", func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "later"}} }),
		"other":   pod("other", "uid-other", func(p *v1.Pod) { p.Spec.SchedulerName = "default-scheduler" }),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if path, ok := strings.CutPrefix(r.URL.Path, proxy); ok && answers[path] != "" {
			body, _ := io.ReadAll(r.Body)
			*sent = cmp.Or(string(body), r.Header.Get(client.TokenHeader)) // where nothing else is sent
			if answers[path] == "accounting" {
				w.Header().Set("Last-Modified", time.Date(2026, 11, 29, 14, 3, 5, 0, time.Local).UTC().Format(http.TimeFormat))
			}
			text, err := os.ReadFile(filepath.Join("../../../webservice/testdata", answers[path]+".json"))
			assert.Check(t, err)
			_, _ = w.Write(text)
			return
		}
		var object any
		switch name, isPod := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/dev/pods/"); {
		case isPod && pods[name] != nil:
			object = pods[name]
		case r.URL.Path == "/api/v1/namespaces/dev":
			object = &v1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "dev"}}
		case r.URL.Path == "/api/v1/nodes/node-2":
			object = drained("dev/gated")
		case r.URL.Path == "/api/v1/pods" && r.URL.Query().Get("fieldSelector") == "spec.nodeName=node-2":
			object = v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []v1.Pod{*pods["gated"]}}
		case r.URL.Path == "/api/v1/pods" && r.URL.Query().Get("fieldSelector") == "spec.nodeName=node-1":
			object = v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []v1.Pod{*pods["bound"]}}
		case r.URL.Path == "/apis/policy/v1/poddisruptionbudgets":
			object = policy.PodDisruptionBudgetList{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudgetList"}}
		case r.URL.Path == "/api/v1/pods":
			list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
			list.Items = []metav1.PartialObjectMetadata{{
				TypeMeta:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
				ObjectMeta: pods["agent-1"].ObjectMeta,
			}}
			object = list
		case r.URL.Path == "/api/v1/namespaces/narwhal/serviceaccounts/narwhal-reader/token":
			asked, err := io.ReadAll(r.Body)
			assert.Check(t, err)
			assert.Check(t, bytes.Contains(asked, []byte("narwhal-scheduler")), "the audience")
			object = authentication.TokenRequest{
				TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"},
				Status:   authentication.TokenRequestStatus{Token: "short-lived"},
			}
		default:
			w.WriteHeader(http.StatusNotFound)
			object = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "message": r.URL.Path + " not found", "code": 404}
		}
		assert.Check(t, json.NewEncoder(w).Encode(object))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// play runs the plugin. Ages count from now, so they are left out.
func play(t *testing.T, in string, args ...string) (out, sent string, err error) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var written bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(in), Out: &written, ErrOut: &written}
	cmd := newCommand(streams)
	cmd.SetArgs(append([]string{"--server", cluster(t, &sent), "-n", "dev"}, args...))
	err = cmd.Execute()
	return written.String(), sent, err
}

func TestVersion(t *testing.T) {
	out, _, err := play(t, "", "--version")
	assert.NilError(t, err)
	assert.Assert(t, strings.HasPrefix(out, "kubectl narwhal version v0.1.0 "), out)
}

// The scheduler is asked with a token of an account in its namespace, which the proxy of the API
// server does not take for itself; without one where there is no such account.
func TestTokenOfTheAccount(t *testing.T) {
	for _, c := range []struct{ account, want string }{
		{"narwhal-reader", "Bearer short-lived"}, {"none", ""}, {"", ""},
	} {
		_, sent, err := play(t, "", "queues", "--scheduler-account", c.account)
		assert.NilError(t, err)
		assert.Equal(t, sent, c.want)
	}
}

// With TLS the proxy of the API server is told so.
func TestSchedulerWithTLS(t *testing.T) {
	_, _, err := play(t, "", "queues", "--scheduler-tls")
	assert.ErrorContains(t, err, "/api/v1/namespaces/narwhal/services/https:narwhal-scheduler:rest/proxy/")
}

func TestTables(t *testing.T) {
	for _, name := range []string{"queues", "nodes"} {
		out, _, err := play(t, "", name)
		assert.NilError(t, err)
		golden.Assert(t, out, name+".golden")
	}
	groups, _, err := play(t, "", "groups")
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(groups, "is below its minimum: no node has room for the rest of it"), groups)
	domains, _, err := play(t, "", "domains")
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(domains, "si.io/rackname"), domains)
	for name, want := range map[string]string{
		"users": "anna", "apps": "filler-app", "losses": "2026-11-21   root.low   anna", "changes": "root.low: resources.max.vcore: 3 -> 4",
		"accounting": "2026-11-20   root.low          anna",
	} {
		out, _, err := play(t, "", name)
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(out, want), out)
	}
	accounting, _, err := play(t, "", "accounting")
	assert.NilError(t, err)
	assert.Assert(t, strings.HasSuffix(accounting, "\n\nas of 2026-11-29 14:03:05\n"), accounting)
	for _, name := range []string{"pending", "preemptions"} {
		out, _, err := play(t, "", name)
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(out, "dev/agent-1"), "keys are shown as names of pods:\n%s", out)
	}
}

func TestWholeAnswers(t *testing.T) {
	out, _, err := play(t, "", "queues", "-o", "yaml")
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(out, "queuename: root.sys.agents\n"), out)
	out, _, err = play(t, "", "why", "pod/agent-1", "-o", "json")
	assert.NilError(t, err)
	var whole map[string]any
	assert.NilError(t, json.Unmarshal([]byte(out), &whole))
	assert.Equal(t, whole["nominatedNode"], "node-1")
	_, _, err = play(t, "", "nodes", "-o", "wide")
	assert.Error(t, err, "-o wide: json or yaml is expected")
}

func TestWhy(t *testing.T) {
	out, _, err := play(t, "", "why", "pod/agent-1")
	assert.NilError(t, err)
	golden.Assert(t, out, "why.golden")
	for name, want := range map[string]string{
		"bound": "dev/bound runs on node-1\n",
		"done":  "dev/done has ended: Succeeded\n",
		"gated": "dev/gated is held back by its scheduling gate later\n",
		"other": "dev/other waits, but this scheduler does not know it; its schedulerName is \"default-scheduler\"\n",
	} {
		out, _, err := play(t, "", "why", name)
		assert.NilError(t, err)
		assert.Equal(t, out, want)
	}
	_, _, err = play(t, "", "why", "pod/none")
	assert.ErrorContains(t, err, "not found")
}

const jobAndPod = `
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 3
  completions: 2
  template:
    metadata: {labels: {applicationId: filler-app, queue: root.low}}
    spec:
      priority: 5
      preemptionPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: 500m, memory: 1Gi}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: single, namespace: shop}
spec: {containers: [{name: c, image: i}]}
---
`

func TestWhatIf(t *testing.T) {
	out, sent, err := play(t, jobAndPod, "whatif", "-f", "-", "--within", "30s")
	assert.NilError(t, err)
	golden.Assert(t, out, "whatif.golden")
	golden.Assert(t, sent+"\n", "whatif-sent.golden")
}

// TestWhatIfThatIsRefused: what would not be taken in is shown, and it is an error.
func TestWhatIfThatIsRefused(t *testing.T) {
	answers["whatif"] = "../../kubernetes/cmd/kubectl-narwhal/testdata/whatif-refused"
	defer func() { answers["whatif"] = "whatif" }()
	out, _, err := play(t, jobAndPod, "whatif", "-f", "-")
	assert.ErrorIs(t, err, errRefused)
	assert.Assert(t, strings.Contains(out, "application x is not registered"), out)
}

func TestWhatIfOfWhatIsNoManifest(t *testing.T) {
	for text, want := range map[string]string{
		"": "-: there are no pods in it",
		"apiVersion: v1\nkind: Service\nmetadata: {name: s}": "-: Service: Pods, Deployments, StatefulSets, ReplicaSets, Jobs, CronJobs, PodGroups and CompositePodGroups are expected",
		"apiVersion: v2\nkind: Pod":                          `no kind "Pod" is registered`,
		"kind: [":                                            "did not find expected node content",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {yunikorn.apache.org/task-groups: '{'}}": "annotation yunikorn.apache.org/task-groups",
	} {
		_, _, err := play(t, text, "whatif", "-f", "-")
		assert.ErrorContains(t, err, want)
	}
	_, _, err := play(t, "", "whatif", "-f", "/none")
	assert.ErrorContains(t, err, "/none")
	_, _, err = play(t, "", "whatif")
	assert.ErrorContains(t, err, "filename")
}

// questionOf is the question of a manifest, of which the priorities are known.
func questionOf(text string) (*client.Question, error) {
	m, err := readManifest(strings.NewReader(text), "dev")
	if err != nil {
		return nil, err
	}
	return m.question()
}

// Kinds of workloads count their pods in ways of their own.
func TestPodsOfWorkloads(t *testing.T) {
	const head = "apiVersion: %s\nkind: %s\nmetadata: {name: w}\nspec:\n"
	template := "  template: {spec: {containers: [{name: c, image: i}]}}\n"
	for _, c := range []struct {
		version, kind, spec string
		count               int
	}{
		{"apps/v1", "Deployment", "  replicas: 4\n" + template, 4},
		{"apps/v1", "Deployment", template, 1},
		{"apps/v1", "StatefulSet", "  replicas: 2\n" + template, 2},
		{"apps/v1", "ReplicaSet", "  replicas: 3\n" + template, 3},
		{"batch/v1", "Job", template, 1},
		{"batch/v1", "Job", "  parallelism: 5\n" + template, 5},
		{"batch/v1", "CronJob", "  jobTemplate: {spec: {parallelism: 2, template: {spec: {containers: [{name: c, image: i}]}}}}\n", 2},
	} {
		text := strings.Replace(strings.Replace(head, "%s", c.version, 1), "%s", c.kind, 1) + c.spec
		asked, err := questionOf(text)
		assert.NilError(t, err)
		assert.Equal(t, asked.Asks[0].Count, c.count, text)
		assert.Equal(t, asked.Asks[0].Key, "w")
		assert.Equal(t, asked.Applications[0].Application, "narwhal-dev-autogen")
	}
	_, err := questionOf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec:\n  replicas: 0\n" + template)
	assert.Error(t, err, "there are no pods in it")
}
