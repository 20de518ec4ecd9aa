package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// Two tenants have a namespace each, with a quota, and may do nothing but create, change and evict pods in it. They attack
// each other in eleven ways, with the manifests as they are. Nothing happens to what the other runs, nothing is charged to its
// queue, and the scheduler goes on: a pod of a third namespace has a node within two seconds. What a tenant's pods get of each
// attack is what any pod of it would get, or nothing.
func tenantsAttack(w *World) {
	w.AddNodes(4, "4", "16Gi")
	one, other := newTenant(w, "shop", 1), newTenant(w, "bank", 3)
	w.Await(Running("web", 4))
	for i, a := range attacks {
		w.Step("attack: %s", a.name)
		for _, t := range [][]*tenant{{one, other}, {other, one}} {
			a.try(w, t[0], t[1])
		}
		if i == len(attacks)/2 {
			w.Middle()
		}
		w.CreatePods("plain", 1, Pod{CPU: "100m", Memory: "128Mi"})
		w.AwaitWithin(plainMax, Bound("plain", 1))
		a.leadsTo(w)
		w.checkBooks()
		one.isUnharmed()
		other.isUnharmed()
		one.giveUp()
		other.giveUp()
		w.DeletePod("plain-1")
		w.Await(Gone("plain"))
		w.Await(Gone("attack"))
	}
	for _, t := range []*tenant{one, other} {
		w.check(t.create(2, Pod{CPU: "2", Memory: "1Gi"}, nil)) // all of its quota
	}
	w.Await(Running("attack", 4))
}

// plainMax is how long a pod may take that has nothing to do with an attack.
const plainMax = 2 * time.Second

// An attack is what a tenant does to another one.
type attack struct {
	name    string
	try     func(w *World, t, other *tenant)
	leadsTo func(w *World) // for the pods of both
}

var attacks = []attack{
	{"it names the application of the other", func(w *World, t, other *tenant) {
		w.check(t.create(2, Pod{CPU: "1", Memory: "1Gi", Labels: map[string]string{"applicationId": other.application()}}, nil))
	}, func(w *World) { w.Await(Running("attack", 4)) }},
	{"it names the queue of the other", func(w *World, t, other *tenant) {
		queue := "root." + other.namespace
		w.check(t.create(3, Pod{
			CPU: "2", Memory: "1Gi", Labels: map[string]string{"queue": queue}, Annotations: map[string]string{"yunikorn.apache.org/queue": queue},
		}, nil))
	}, getsItsQuota},
	{"it writes the marks of placeholders", func(w *World, t, other *tenant) {
		w.check(t.create(1, Pod{
			CPU: "1", Memory: "1Gi", Labels: map[string]string{"applicationId": other.application()},
			Annotations: map[string]string{
				"yunikorn.apache.org/placeholder": "true", "yunikorn.apache.org/task-group-name": "x",
				"yunikorn.apache.org/task-groups":                `[{"name": "x", "minMember": 5, "minResource": {"cpu": "1"}, "tolerations": [{"operator": "Exists"}]}]`,
				"yunikorn.apache.org/schedulingPolicyParameters": "gangSchedulingStyle=Hard placeholderTimeoutInSeconds=1",
			},
		}, nil))
		mark := `{"status": {"conditions": [{"type": "narwhal-scheduler.io/Placeholder", "status": "True"}]}}`
		_, err := t.client.CoreV1().Pods(t.namespace).Patch(w.ctx, "attack-1", types.StrategicMergePatchType, []byte(mark), metav1.PatchOptions{}, "status")
		t.isForbidden(err)
	}, func(w *World) { w.Await(waitsFor("attack", 2, "Refused")) }},
	{"its task groups are huge", func(w *World, t, _ *tenant) {
		w.check(t.create(1, inGroups(fmt.Sprintf(`"minMember": 900, "annotations": {"pad": %q}`, strings.Repeat("y", 120<<10))), nil))
	}, func(w *World) { w.Await(Running("attack", 2)) }},
	{"its gang has 10,000 members", func(w *World, t, _ *tenant) {
		w.check(t.create(1, inGroups(`"minMember": 10000`), nil))
	}, func(w *World) { w.Await(Running("attack", 2)) }},
	{"it says that a daemonset owns its pod, which needs the node of the other", func(w *World, t, other *tenant) {
		w.check(t.create(1, Pod{CPU: "4", Memory: "1Gi", Affinity: onNamedNode(nodeName(other.firstNode))}, func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "made-up", Controller: new(true)}}
		}))
	}, nothingRuns},
	{"it changes quotas", func(w *World, t, other *tenant) {
		const patch = `{"metadata": {"annotations": {"yunikorn.apache.org/namespace.quota": "{\"cpu\": \"1\"}"}}}`
		for _, name := range []string{t.namespace, other.namespace} {
			_, err := t.client.CoreV1().Namespaces().Patch(w.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			t.isForbidden(err)
		}
		w.check(t.create(3, Pod{CPU: "2", Memory: "1Gi", Annotations: map[string]string{"yunikorn.apache.org/namespace.quota": `{"cpu": "100"}`}}, nil))
	}, getsItsQuota},
	{"it has the highest priority, on a node of the other", func(w *World, t, other *tenant) {
		p := Pod{CPU: "4", Memory: "1Gi", Node: nodeName(other.firstNode)}
		t.isForbidden(t.create(1, p, func(p *corev1.Pod) { p.Spec.Priority = new(int32(2_000_000_000)) }))
		p.PriorityClass = "system-node-critical"
		w.check(t.create(1, p, nil))
	}, nothingRuns},
	{"it names the group of the other", func(w *World, t, other *tenant) {
		w.check(t.create(1, Pod{CPU: "1", Memory: "1Gi", Group: other.group()}, nil))
	}, func(w *World) { w.Await(waitsFor("attack", 2, "MissingReference")) }},
	{"it evicts, deletes and binds", func(w *World, t, other *tenant) {
		pods := t.client.CoreV1().Pods(other.namespace)
		t.isForbidden(pods.EvictV1(w.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}))
		t.isForbidden(pods.Delete(w.ctx, "web-1", metav1.DeleteOptions{}))
		w.check(t.create(1, Pod{CPU: "4", Memory: "1Gi"}, nil))
		t.isForbidden(t.client.CoreV1().Pods(t.namespace).Bind(w.ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: "attack-1"}, Target: corev1.ObjectReference{Kind: "Node", Name: nodeName(other.firstNode)},
		}, metav1.CreateOptions{}))
	}, nothingRuns},
	{"it keeps the place of the other", func(w *World, t, other *tenant) {
		w.check(t.create(1, Pod{CPU: "4", Memory: "1Gi", Labels: map[string]string{"descheduler.narwhal-scheduler.io/reservation": "x"}, Annotations: map[string]string{
			"descheduler.narwhal-scheduler.io/reserved-for":         fmt.Sprintf(`{"owner": "", "pod": %q, "name": "web-1"}`, other.web["web-1"]),
			"descheduler.narwhal-scheduler.io/reserved-labels":      `{"app": "web"}`,
			"descheduler.narwhal-scheduler.io/reservation-preempts": "true",
		}}, nil))
	}, nothingRuns},
}

// getsItsQuota is what leads to two of three pods of each tenant, which are beside web all of its quota.
func getsItsQuota(w *World) {
	w.Await(Running("attack", 4))
	w.Await(waitsFor("attack", 2, "QuotaExceeded"))
}

// nothingRuns is what gives no pod a node: each has said why, or a controller has deleted it.
func nothingRuns(w *World) {
	w.Await(Condition{what: "each pod of attack says why it waits", look: func(v View) (string, bool) {
		silent := slices.DeleteFunc(v.podsOf("attack"), func(p *corev1.Pod) bool {
			return p.Spec.NodeName == "" && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
			})
		})
		return list(silent), len(silent) == 0
	}})
}

// inGroups is a pod of a task group of which more is said.
func inGroups(says string) Pod {
	return Pod{CPU: "100m", Memory: "128Mi", Labels: map[string]string{"applicationId": "groups"}, Annotations: map[string]string{
		"yunikorn.apache.org/task-groups":     `[{"name": "x", "minResource": {"cpu": "1m"}, ` + says + `}]`,
		"yunikorn.apache.org/task-group-name": "x",
	}}
}

// onNamedNode has a pod run on one node, as those of daemonsets.
func onNamedNode(node string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}}}
}

// A tenant is a user that may do what it likes with pods of its namespace, and nothing else. It has two pods
// "web" on two nodes, and half of a group.
type tenant struct {
	w         *World
	namespace string
	client    kubernetes.Interface
	firstNode int
	web       map[string]types.UID
}

func newTenant(w *World, namespace string, firstNode int) *tenant {
	w.t.Helper()
	_, err := w.client.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Annotations: map[string]string{
		"yunikorn.apache.org/namespace.quota":      `{"cpu": "6", "memory": "32Gi"}`,
		"yunikorn.apache.org/namespace.guaranteed": `{"cpu": "2"}`,
	}}}, metav1.CreateOptions{})
	w.check(err)
	_, err = w.client.RbacV1().Roles(namespace).Create(w.ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "tenant"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{rbacv1.VerbAll}},
			{APIGroups: []string{""}, Resources: []string{"pods/eviction"}, Verbs: []string{"create"}},
		},
	}, metav1.CreateOptions{})
	w.check(err)
	_, err = w.client.RbacV1().RoleBindings(namespace).Create(w.ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "tenant"},
		RoleRef:    rbacv1.RoleRef{Kind: "Role", Name: "tenant"},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: namespace + "-user"}},
	}, metav1.CreateOptions{})
	w.check(err)
	config := w.cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: namespace + "-user"}
	user, err := kubernetes.NewForConfig(config)
	w.check(err)
	t := &tenant{w: w, namespace: namespace, client: user, firstNode: firstNode}
	w.check(w.cluster.AwaitServiceAccount(w.ctx, namespace))
	t.runsWeb()
	t.hasHalfAGroup()
	return t
}

// application is that of its pods.
func (t *tenant) application() string { return "web-of-" + t.namespace }

func (t *tenant) group() string { return "team-of-" + t.namespace }

func (t *tenant) runsWeb() {
	t.w.t.Helper()
	t.web = map[string]types.UID{}
	for i := range 2 {
		template := Pod{CPU: "1", Memory: "1Gi", Node: nodeName(t.firstNode + i), Labels: map[string]string{"applicationId": t.application()}}.template("web", t.w.scheduler.Name())
		created, err := t.client.CoreV1().Pods(t.namespace).Create(t.w.ctx, pod("web", i+1, template), metav1.CreateOptions{})
		t.w.check(err)
		t.web[created.Name] = created.UID
	}
}

// hasHalfAGroup has one pod wait for another one.
func (t *tenant) hasHalfAGroup() {
	t.w.t.Helper()
	createPodGroup(t.w, t.namespace, t.group(), 2)
	template := Pod{CPU: "10m", Memory: "1Mi", Group: t.group()}.template("half", t.w.scheduler.Name())
	_, err := t.client.CoreV1().Pods(t.namespace).Create(t.w.ctx, pod("half", 1, template), metav1.CreateOptions{})
	t.w.check(err)
}

// create creates pods of an attack in its own namespace.
func (t *tenant) create(count int, p Pod, change func(*corev1.Pod)) error {
	t.w.t.Helper()
	for i := range count {
		object := pod("attack", i+1, p.template("attack", t.w.scheduler.Name()))
		if change != nil {
			change(object)
		}
		if _, err := t.client.CoreV1().Pods(t.namespace).Create(t.w.ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// giveUp deletes them, whatever became of them.
func (t *tenant) giveUp() {
	t.w.t.Helper()
	t.w.check(t.client.CoreV1().Pods(t.namespace).DeleteCollection(t.w.ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))},
		metav1.ListOptions{LabelSelector: appLabel + "=attack"}))
}

func (t *tenant) isForbidden(err error) {
	t.w.t.Helper()
	assert.Assert(t.w.t, apierrors.IsForbidden(err), "%v", err)
}

// isUnharmed: its two pods run as they did, half of its group waits still, and its queue is charged for its own pods.
func (t *tenant) isUnharmed() {
	t.w.t.Helper()
	pods, err := t.w.client.CoreV1().Pods(t.namespace).List(t.w.ctx, metav1.ListOptions{})
	t.w.check(err)
	var used int64
	for _, p := range pods.Items {
		if p.Spec.NodeName != "" {
			used += p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
		}
		switch p.Labels[appLabel] {
		case "web":
			assert.Assert(t.w.t, runs(&p) && p.UID == t.web[p.Name], "%s/%s %s", p.Namespace, p.Name, describe(&p))
			assert.Assert(t.w.t, !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget }))
		case "half":
			assert.Equal(t.w.t, p.Spec.NodeName, "", "%s/%s", p.Namespace, p.Name)
		}
	}
	var queue client.Queue
	t.w.check(t.w.readREST(context.Background(), "/ws/v1/partition/default/queue/root."+t.namespace, &queue))
	assert.Equal(t.w.t, queue.Used["vcore"], used, "of queue root.%s", t.namespace)
}
