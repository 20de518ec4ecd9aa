package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
)

// apiServer is an API server that has nodes and pods and nothing else, and refuses to be
// written to.
func apiServer(t *testing.T, nodes []v1.Node, pods []v1.Pod) *httptest.Server {
	t.Helper()
	answer := func(w http.ResponseWriter, status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		assert.Check(t, json.NewEncoder(w).Encode(value))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		about := metav1.ListMeta{ResourceVersion: "1"}
		switch {
		case r.Method != http.MethodGet:
			t.Errorf("%s %s", r.Method, r.URL)
		case r.URL.Query().Has("sendInitialEvents"): // an old server, which lists only
			answer(w, http.StatusUnprocessableEntity, metav1.Status{Status: "Failure", Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity})
		case r.URL.Query().Has("watch"):
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case r.URL.Path == "/version":
			answer(w, http.StatusOK, version.Info{Major: "1", Minor: "36"})
		case r.URL.Path == "/api/v1":
			answer(w, http.StatusOK, metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
				{Name: "pods/eviction", Kind: "Eviction", Group: "policy", Version: "v1"},
			}})
		case r.URL.Path == "/api/v1/nodes":
			answer(w, http.StatusOK, v1.NodeList{ListMeta: about, Items: nodes})
		case r.URL.Path == "/api/v1/pods":
			answer(w, http.StatusOK, v1.PodList{ListMeta: about, Items: pods})
		case strings.Contains(r.URL.Path, "/configmaps/"):
			answer(w, http.StatusNotFound, metav1.Status{Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
		default:
			answer(w, http.StatusOK, metav1.List{ListMeta: about})
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// kubeconfigOf is the name of a file that says where the API server is.
func kubeconfigOf(t *testing.T, url string) string {
	t.Helper()
	return written(t, "kubeconfig", `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "`+url+`"}}]
contexts: [{name: c, context: {cluster: c, user: c}}]
users: [{name: c, user: {}}]
current-context: c
`)
}

func readyNode(name string) v1.Node {
	room := v1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("20")}
	return v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status: v1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
}

// duplicates are four pods of one owner on node a.
func duplicates() []v1.Pod {
	var pods []v1.Pod
	for i := range 4 {
		pods = append(pods, v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: fmt.Sprintf("web-%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i)),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}},
			},
			Spec: v1.PodSpec{
				NodeName: "a", SchedulerName: "default-scheduler",
				Containers: []v1.Container{{
					Name: "web", Image: "nginx",
					Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("1")}},
				}},
			},
			Status: v1.PodStatus{Phase: v1.PodRunning},
		})
	}
	return pods
}

// A dry run of the whole program: of four duplicates on one of two nodes, two would be
// evicted, and their replacements would run on the other node. D-CYC-6: it asks for no lease,
// which would be a write.
func TestDryRunOfACluster(t *testing.T) {
	complete(t)
	server := apiServer(t, []v1.Node{readyNode("a"), readyNode("b")}, duplicates())
	kubeconfig := kubeconfigOf(t, server.URL)
	policy := written(t, "policy.yaml", smallest+"profiles: [{plugins: {balance: {enabled: [RemoveDuplicates]}}}]\n")
	var out, problems bytes.Buffer
	code := Run(t.Context(), Streams{&out, &problems}, []string{
		"--dry-run", "--leader-elect", "--policy-config-file", policy, "--kubeconfig", kubeconfig,
	})
	assert.Equal(t, code, exitDone, problems.String())
	assert.Equal(t, problems.String(), "") // the report says it all
	lines := strings.Split(out.String(), "\n")
	assert.Assert(t, strings.Contains(lines[0], "2 pods would be evicted"), "%s\n%s", out.String(), problems.String())
	for _, line := range lines[2:4] {
		cells := strings.Fields(line)
		assert.Assert(t, strings.HasPrefix(line, "shop/web-") && cells[len(cells)-3] == "a" && cells[len(cells)-2] == "b", out.String())
	}
}

// A replacement goes where the scheduler would place it: where it prefers to run, unless the flags say that the scheduler has
// another profile, or looks at no preferences. Pods of other schedulers prefer what they say whatever ours is told.
func TestReplacementsByTheProfile(t *testing.T) {
	complete(t)
	const kind = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: narwhal\n"
	const onlyB = kind + `  pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution:
    {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [b]}]}]}}}}]`
	const indifferent = kind + "  plugins: {score: {disabled: [{name: NodeAffinity}]}}\n"
	tainted, preferring := readyNode("a"), duplicates()[:1]
	tainted.Spec.Taints = []v1.Taint{{Key: "maintenance", Effect: v1.TaintEffectNoSchedule}}
	toC := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"c"}}}}
	preferring[0].Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 100, Preference: toC}},
	}}
	policy := written(t, "policy.yaml", smallest+"profiles: [{plugins: {deschedule: {enabled: [RemovePodsViolatingNodeTaints]}}}]\n")
	for _, c := range []struct {
		name, of string
		flags    []string
		to       string
	}{
		{"preferred", "narwhal", nil, "c"},
		{"by the order alone", "narwhal", []string{"--preferred-places=false"}, "b"},
		{"like YuniKorn", "narwhal", []string{"--like-yunikorn"}, "b"},
		{"like YuniKorn but for the places", "narwhal", []string{"--like-yunikorn", "--preferred-places"}, "c"},
		{"another score", "narwhal", []string{"--scheduler-config", written(t, "indifferent.yaml", indifferent)}, "b"},
		{"another filter", "narwhal", []string{"--scheduler-config", written(t, "b.yaml", onlyB)}, "b"},
		{"another scheduler", "default-scheduler", []string{"--preferred-places=false", "--scheduler-config", written(t, "indifferent.yaml", indifferent)}, "c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			preferring[0].Spec.SchedulerName = c.of
			server := apiServer(t, []v1.Node{tainted, readyNode("b"), readyNode("c")}, preferring)
			var out, problems bytes.Buffer
			code := Run(t.Context(), Streams{&out, &problems}, append(c.flags, "--dry-run", "--policy-config-file", policy, "--kubeconfig", kubeconfigOf(t, server.URL)))
			assert.Equal(t, code, exitDone, problems.String())
			assert.Equal(t, problems.String(), "")
			assert.Assert(t, strings.Contains(strings.Join(strings.Fields(out.String()), " "), "of its node a "+c.to+" "), "%s", out.String())
		})
	}
	var out, problems bytes.Buffer
	code := Run(t.Context(), Streams{&out, &problems}, []string{"--scheduler-config", policy, "--dry-run", "--policy-config-file", policy, "--kubeconfig", policy})
	assert.Equal(t, code, exitFailed)
	assert.Assert(t, strings.Contains(problems.String(), "scheduler-config: "+policy+": "), problems.String())
}
