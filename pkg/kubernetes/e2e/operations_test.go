package e2e

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// The scheduler is asked to stop in the middle of 500 bindings, while the API server answers
// none of those that are under way. It waits for them and begins no others, so that nothing
// is half done: what it has sent is bound. The next start goes on with the rest.
func stopsInTheMiddle(w *World) {
	const all, atOnce, fewer = 500, 100, 400
	w.AddNodes(5, "32", "64Gi")
	stopping, asked := make(chan struct{}), 0
	webhook := w.RefuseBindings(func(Attempt) bool {
		if asked++; asked > atOnce {
			<-stopping
		}
		return false
	})
	w.PauseScheduler()
	w.CreateDeployment("web", all, Pod{CPU: "100m", Memory: "128Mi"})
	w.Await(Waiting("web", all))
	w.ContinueScheduler()
	w.Await(Bound("web", atOnce))
	w.Step("scheduler %s is asked to stop", w.scheduler.Name())
	stopped := make(chan error, 1)
	go func() { stopped <- w.instance.(running).Terminate() }()
	close(stopping)
	w.check(<-stopped)

	nodes := map[string]string{}
	for _, attempt := range webhook.Attempts() {
		assert.Equal(w.t, nodes[attempt.Pod], "", "%v is not the first", attempt)
		nodes[attempt.Pod] = attempt.Node
	}
	w.Step("%d pods of %d are bound", len(nodes), all)
	assert.Assert(w.t, len(nodes) >= atOnce && len(nodes) < fewer, "%d bindings", len(nodes))
	pods, err := w.client.CoreV1().Pods(namespace).List(w.ctx, metav1.ListOptions{})
	w.check(err)
	bound := map[string]string{}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName != "" {
			bound[pod.Name] = pod.Spec.NodeName
		}
	}
	assert.DeepEqual(w.t, bound, nodes)

	w.startScheduler()
	w.Await(Running("web", all))
	assert.Equal(w.t, len(webhook.Attempts()), all)
}

// The plugin of kubectl asks through the API server, with no more rights than the page
// says. What it shows is what there is.
func pluginTellsTheTruth(w *World) {
	w.CreatePriorityClass("important", 1000)
	w.AddNodes(2, "2", "16Gi")
	w.CreatePods("batch", 4, Pod{CPU: "1", Memory: "1Gi", Annotations: slowly})
	w.Await(Running("batch", 4))
	ask := newPlugin(w)

	var nodes []BookedNode
	w.check(json.Unmarshal([]byte(ask("nodes", "-o", "json")), &nodes))
	assert.DeepEqual(w.t, differences(nodes, w.Pods(""), w.scheduler.Name(), yunikornName), []string(nil))
	var root client.Queue
	w.check(json.Unmarshal([]byte(ask("queues", "-o", "json")), &root))
	assert.Equal(w.t, root.Used["vcore"], int64(4000))
	assert.Equal(w.t, root.Used["memory"], int64(4<<30))
	contains(w, ask("queues"), "cpu", "memory", "4Gi")

	w.CreatePods("large", 1, Pod{CPU: "3", Memory: "1Gi"})
	w.Await(Unschedulable("large", 1))
	contains(w, ask("why", "pod/large-1"), "default/large-1 of application", "2 could never hold it", "lacks vcore=1000")
	contains(w, ask("why", "batch-1"), "runs on node "+w.Pods("batch")[0].Spec.NodeName)

	manifest := filepath.Join(w.cluster.Folder(), "pod.yaml")
	w.check(os.WriteFile(manifest, []byte(urgentPod), 0o600))
	contains(w, ask("whatif", "-f", manifest), "urgent", "room is made", "would be evicted", "default/batch-")
	assert.Equal(w.t, len(w.Pods("urgent")), 0)
	w.Await(Running("batch", 4)) // nothing was changed

	w.Middle()
	w.checkBooks()
	contains(w, ask("why", "batch-1"), "runs on node "+w.Pods("batch")[0].Spec.NodeName)
	w.DeletePod("large-1")
	w.CreatePods("driver", 1, Pod{CPU: "1", Memory: "1Gi", PriorityClass: "important"})
	w.Await(Evicted("batch", 1))
	victim := slices.DeleteFunc(w.Pods("batch"), func(p *corev1.Pod) bool { return p.DeletionTimestamp == nil })[0]
	w.Await(Running("driver", 1))
	driver := w.Pods("driver")[0]
	contains(w, ask("preemptions"), "priority", "default/driver-1", driver.Spec.NodeName)
	var plans []client.Preemption
	w.check(json.Unmarshal([]byte(ask("preemptions", "-o", "json")), &plans))
	assert.Equal(w.t, len(plans), 1)
	assert.Equal(w.t, plans[0].Key, string(driver.UID))
	assert.Equal(w.t, len(plans[0].Victims), 1)
	assert.Equal(w.t, plans[0].Victims[0].Key, string(victim.UID))
}

const urgentPod = `
apiVersion: v1
kind: Pod
metadata:
  name: urgent
spec:
  priority: 1000
  containers:
  - name: main
    image: none
    resources: {requests: {cpu: "1", memory: 1Gi}}
`

func contains(w *World, text string, parts ...string) {
	w.t.Helper()
	for _, part := range parts {
		assert.Assert(w.t, strings.Contains(text, part), "%q is not in\n%s", part, text)
	}
}

// newPlugin lets the API server reach the scheduler as a Service, and returns what runs the
// plugin with arguments, as a service account with the role of the page and that of a viewer.
func newPlugin(w *World) func(arguments ...string) string {
	w.t.Helper()
	rbac := w.client.RbacV1()
	const name = "asks"
	_, err := w.client.CoreV1().ServiceAccounts(namespace).Create(w.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	w.check(err)
	_, err = rbac.Roles(narwhalNamespace).Create(w.ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"services/proxy"}, Verbs: []string{"get", "create"}},
			{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{readerAccount}, Verbs: []string{"create"}},
		},
	}, metav1.CreateOptions{})
	w.check(err)
	for where, role := range map[string]rbacv1.RoleRef{narwhalNamespace: {Kind: "Role", Name: name}, namespace: {Kind: "ClusterRole", Name: "view"}} {
		_, err = rbac.RoleBindings(where).Create(w.ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: role,
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
		}, metav1.CreateOptions{})
		w.check(err)
	}
	config, err := w.cluster.ConfigOf(w.ctx, namespace, name)
	w.check(err)
	return newPluginAs(w, name, config)
}

// newPluginAs is the same as a user of a configuration.
func newPluginAs(w *World, name string, config *rest.Config) func(arguments ...string) string {
	w.t.Helper()
	serveService(w, "narwhal-scheduler", corev1.ServicePort{Name: "rest", Port: 9080}, func() string { return w.instance.REST() })
	w.awaitProxy("/api/v1/namespaces/" + narwhalNamespace + "/services/http:narwhal-scheduler:rest/proxy/ws/v1/clusters")
	kubeconfig, err := w.cluster.Kubeconfig(name, config)
	w.check(err)
	program, err := pluginProgram()
	w.check(err)
	return func(arguments ...string) string {
		w.t.Helper()
		var problems strings.Builder
		command := exec.CommandContext(w.ctx, program, append(arguments, "--kubeconfig", kubeconfig)...)
		command.Stderr = &problems
		output, err := command.Output()
		assert.NilError(w.t, err, "kubectl-narwhal %v: %s", arguments, &problems)
		return string(output)
	}
}

// serveService makes what listens at an address an endpoint of a Service. The API server
// connects to no loopback address, so that it is offered on another one too. The address is
// asked for with each request, since what starts again has another one.
func serveService(w *World, name string, service corev1.ServicePort, at func() string) {
	w.t.Helper()
	address := otherAddress()
	if address == nil {
		w.t.Skip("the API server needs an address of this machine that is not the loopback one")
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address.String(), "0"))
	w.check(err)
	server := &http.Server{ReadHeaderTimeout: patience, Handler: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		target, err := url.Parse(at())
		if err != nil {
			panic(err) // the tests make it
		}
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}}
	go server.Serve(listener)
	w.t.Cleanup(func() { w.check(server.Close()) })

	core, port := w.client.CoreV1(), int32(listener.Addr().(*net.TCPAddr).Port)
	// It passes on to pods alone, so there is one that no scheduler places, with this address.
	pod := Pod{CPU: "1", Memory: "1Gi"}.template(name, "no-scheduler")
	created, err := core.Pods(narwhalNamespace).Create(w.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: pod.Spec}, metav1.CreateOptions{})
	w.check(err)
	created.Status.PodIPs = []corev1.PodIP{{IP: address.String()}}
	_, err = core.Pods(narwhalNamespace).UpdateStatus(w.ctx, created, metav1.UpdateOptions{})
	w.check(err)
	service.TargetPort = intstr.FromInt32(port)
	_, err = core.Services(narwhalNamespace).Create(w.ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{service}},
	}, metav1.CreateOptions{})
	w.check(err)
	//nolint:staticcheck // the proxy of the API server reads Endpoints
	_, err = core.Endpoints(narwhalNamespace).Create(w.ctx, &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Subsets: []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: address.String(), TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: narwhalNamespace, Name: name}}},
			Ports:     []corev1.EndpointPort{{Name: service.Name, Port: port}},
		}},
	}, metav1.CreateOptions{})
	w.check(err)
}

// awaitProxy waits until the API server passes on requests. It learns of a Service after a
// moment, and says not when.
func (w *World) awaitProxy(path string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	ticker := time.NewTicker(booksEvery)
	defer ticker.Stop()
	for {
		request := w.client.CoreV1().RESTClient().Get().AbsPath(path)
		if w.token != "" {
			request.SetHeader(client.TokenHeader, "Bearer "+w.token)
		}
		err := request.Do(ctx).Error()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			w.t.Fatalf("the API server passes on no requests to %s: %v", path, err)
		}
	}
}

// otherAddress is an address of this machine to which the API server connects, or nil.
func otherAddress() net.IP {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.IsGlobalUnicast() && network.IP.To4() != nil {
			return network.IP
		}
	}
	return nil
}

// The pods of a namespace have a queue of their own, with the quotas of the namespace. A pod
// beyond them waits, and the reason says so, until another one has ended.
func namespaceHasQuota(w *World) {
	w.AddNodes(1, "4", "16Gi")
	of, err := w.client.CoreV1().Namespaces().Get(w.ctx, namespace, metav1.GetOptions{})
	w.check(err)
	of.Annotations = map[string]string{
		"yunikorn.apache.org/namespace.quota":      `{"cpu": "1", "memory": "2Gi"}`,
		"yunikorn.apache.org/namespace.guaranteed": `{"cpu": "500m"}`,
		"yunikorn.apache.org/namespace.maxApps":    "3",
	}
	_, err = w.client.CoreV1().Namespaces().Update(w.ctx, of, metav1.UpdateOptions{})
	w.check(err)
	w.RestartScheduler() // the annotations count for applications that come after
	w.CreatePods("web", 1, Pod{CPU: "1", Memory: "1Gi"})
	w.Await(Running("web", 1))
	w.CreatePods("more", 1, Pod{CPU: "1", Memory: "1Gi"})
	awaitEvent(w, "more-1", "does not fit in queue root."+namespace)
	w.Middle()
	w.Await(Waiting("more", 1))
	w.checkBooks()
	var applications []struct {
		ApplicationID, QueueName string
		Tags                     map[string]string
	}
	w.check(w.readREST(w.ctx, "/ws/v1/partition/default/applications/active", &applications))
	assert.Equal(w.t, len(applications), 1)
	assert.Equal(w.t, applications[0].ApplicationID, "narwhal-default-autogen")
	assert.Equal(w.t, applications[0].QueueName, "root."+namespace)
	tags := applications[0].Tags
	assert.Equal(w.t, tags["namespace.resourcequota"], `{"resources":{"memory":{"value":2147483648},"vcore":{"value":1000}}}`)
	assert.Equal(w.t, tags["namespace.resourceguaranteed"], `{"resources":{"vcore":{"value":500}}}`)
	assert.Equal(w.t, tags["namespace.resourcemaxapps"], "3")
	w.DeletePod("web-1")
	w.Await(Running("more", 1))
}

// awaitEvent waits until an event about a pod says something.
func awaitEvent(w *World, pod, text string) {
	w.t.Helper()
	awaitEventIn(w, namespace, pod, text)
}

// awaitEventIn waits until an event about something in a namespace says something.
func awaitEventIn(w *World, where, about, text string) {
	w.t.Helper()
	w.Step("until an event of %s says %q", about, text)
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	events, err := w.client.EventsV1().Events(where).Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
	w.check(err)
	defer events.Stop()
	for change := range events.ResultChan() {
		if event, ok := change.Object.(*eventsv1.Event); ok && event.Regarding.Name == about && strings.Contains(event.Note, text) {
			return
		}
	}
	w.t.Fatalf("no event of %s says %q", about, text)
}
