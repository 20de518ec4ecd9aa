package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	userInfo  = "yunikorn.apache.org/user.info"
	userLabel = "yunikorn.apache.org/username"
)

// says is what the annotation is with the groups of a user, to which the API server adds one.
func says(user string) string {
	return fmt.Sprintf(`{"user":%q,"groups":["dev","system:authenticated"]}`, user)
}

var dryRunAll = []string{metav1.DryRunAll}

// as is a client of a user that may change workloads in the namespace of the scenarios.
func (w *World) as(user string, groups ...string) kubernetes.Interface {
	w.t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "edits-"},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: user}},
	}
	_, err := w.client.RbacV1().RoleBindings(namespace).Create(w.ctx, binding, metav1.CreateOptions{})
	w.check(err)
	config := w.cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	client, err := kubernetes.NewForConfig(config)
	w.check(err)
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Resource: "pods"},
	}}
	w.eventually(func() bool {
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(w.ctx, review, metav1.CreateOptions{})
		w.check(err)
		return answer.Status.Allowed
	})
	return client
}

// eventually waits until the API server has taken a policy or a role in, of which it does not say when.
func (w *World) eventually(holds func() bool) {
	w.t.Helper()
	ticker, end := time.NewTicker(booksEvery), time.After(patience)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-end:
			w.t.Fatal("the policy, or role, has no effect")
		}
	}
}

// newUsersWorld is a cluster in which controllers are no administrators, and users of the
// namespace are known.
func newUsersWorld(t *testing.T) *World {
	w := NewWorld(t, Narwhal(), Options{Accounts: true})
	of, err := w.client.CoreV1().Namespaces().Get(w.ctx, namespace, metav1.GetOptions{})
	w.check(err)
	of.Labels["narwhal"] = "enabled"
	_, err = w.client.CoreV1().Namespaces().Update(w.ctx, of, metav1.UpdateOptions{})
	w.check(err)
	return w
}

func admission(name string) string { return filepath.Join(manifests, "..", "admission", name) }

// limitedPod is a pod of the queue in which each user has one CPU. It says that it is of a user.
func (w *World) limitedPod(app, user string) corev1.PodTemplateSpec {
	annotations := map[string]string{userInfo: says(user)}
	if user == "" {
		annotations = nil
	}
	return Pod{CPU: "1", Memory: "1Gi", Labels: map[string]string{"queue": "root.limited"}, Annotations: annotations}.template(app, w.scheduler.Name())
}

// Without a policy that writes, one that checks refuses pods and templates that name another
// user than their own, also later.
func TestUsersAreChecked(t *testing.T) {
	needControlPlane(t)
	w := newUsersWorld(t)
	assert.NilError(t, apply(w.cluster, admission("users-check.yaml")))
	anna := w.as("anna", "dev")
	create := func(change func(*corev1.Pod), dry []string) error {
		p := pod("web", 1, w.limitedPod("web", ""))
		change(p)
		_, err := anna.CoreV1().Pods(namespace).Create(w.ctx, p, metav1.CreateOptions{DryRun: dry})
		return err
	}
	as := func(text string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations = map[string]string{userInfo: text} }
	}
	named := func(user string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Labels[userLabel] = user } }
	w.eventually(func() bool { return apierrors.IsInvalid(create(as(says("bea")), dryRunAll)) })

	assert.ErrorContains(t, create(as(says("bea")), dryRunAll), `it may only say {"user":"anna"}`)
	assert.ErrorContains(t, create(as(`{"user":"anna","groups":["admins"]}`), dryRunAll), "it may only say")
	assert.ErrorContains(t, create(named("bea"), dryRunAll), "it may only say anna")
	assert.NilError(t, create(as(says("anna")), dryRunAll))
	assert.NilError(t, create(named("anna"), dryRunAll))
	assert.NilError(t, create(func(*corev1.Pod) {}, dryRunAll))
	assert.NilError(t, create(as(`{"user":"anna"}`), nil))
	bea := w.as("bea", "dev").CoreV1().Pods(namespace)
	for _, patch := range []string{
		`{"metadata": {"annotations": {"yunikorn.apache.org/user.info": null}}}`,
		`{"metadata": {"annotations": {"yunikorn.apache.org/user.info": "{\"user\":\"carl\"}"}}}`,
		`{"metadata": {"labels": {"yunikorn.apache.org/username": "carl"}}}`,
	} {
		_, err := bea.Patch(w.ctx, "web-1", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		assert.ErrorContains(t, err, "it may only say", patch)
	}
	_, err := bea.Patch(w.ctx, "web-1", types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`), metav1.PatchOptions{})
	assert.NilError(t, err)
	for kind, err := range w.createWorkloads(anna, w.limitedPod("other", "bea")) {
		assert.ErrorContains(t, err, "it may only say", kind)
	}
}

// The policies write the user into pods and templates, whatever stands there, and what
// controllers and the scheduler create from these has it. So each user is held to the limit, and
// a template keeps its user when another one changes something else.
func TestUsersAreWritten(t *testing.T) {
	needControlPlane(t)
	needRelease(t, "1.36")
	w := newUsersWorld(t)
	assert.NilError(t, apply(w.cluster, admission("users-check.yaml"), admission("users.yaml")))
	anna, bea := w.as("anna", "dev"), w.as("bea", "dev")
	written := func(client kubernetes.Interface, template corev1.PodTemplateSpec, dry []string) string {
		p, err := client.CoreV1().Pods(namespace).Create(w.ctx, pod("single", 1, template), metav1.CreateOptions{DryRun: dry})
		w.check(err)
		return p.Annotations[userInfo]
	}
	w.eventually(func() bool { return written(anna, w.limitedPod("single", ""), dryRunAll) != "" })
	for kind, err := range w.createWorkloads(anna, w.limitedPod("other", "bea")) {
		assert.NilError(t, err, kind)
	}
	w.manyGroups()

	w.AddNodes(1, "8", "16Gi")
	d, err := anna.AppsV1().Deployments(namespace).Create(w.ctx, deployment("web", 2, w.limitedPod("web", "bea")), metav1.CreateOptions{})
	w.check(err)
	assert.Equal(t, d.Spec.Template.Annotations[userInfo], says("anna"))
	assert.Equal(t, written(bea, w.limitedPod("single", "anna"), nil), says("bea"))
	w.Await(Running("web", 1))
	w.Await(Running("single", 1))
	awaitEvent(w, waitingOf(w, "web"), "user anna")
	for _, p := range w.Pods("web") {
		assert.Equal(t, p.Annotations[userInfo], says("anna"))
	}
	assert.DeepEqual(t, usedByUsers(w), map[string]int64{"anna": 1000, "bea": 1000})

	deployments := bea.AppsV1().Deployments(namespace)
	for patch, want := range map[string]string{
		`{"spec": {"replicas": 3}}`: says("anna"),
		`{"spec": {"template": {"metadata": {"annotations": {"yunikorn.apache.org/user.info": "{}"}}}}}`: says("bea"),
		`{"spec": {"template": {"metadata": {"annotations": {"yunikorn.apache.org/user.info": null}}}}}`: says("bea"),
	} {
		d, err := deployments.Patch(w.ctx, "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dryRunAll})
		assert.NilError(t, err, patch)
		assert.Equal(t, d.Spec.Template.Annotations[userInfo], want, patch)
	}

	gang := inGang("train", 2, "") // the second placeholder stays
	_, err = anna.CoreV1().Pods(namespace).Create(w.ctx, pod("driver", 1, gang.template("driver", w.scheduler.Name())), metav1.CreateOptions{})
	w.check(err)
	w.Await(Bound(holders("train"), 1))
	assert.Equal(t, w.Pods(holders("train"))[0].Annotations[userInfo], says("anna"))
	w.Await(Running("driver", 1))
	w.CheckLaws()
}

// createWorkloads creates every kind of object that has a template of pods, in a dry run. Where
// that is taken in, the error says what the template does not say of the user anna.
func (w *World) createWorkloads(client kubernetes.Interface, template corev1.PodTemplateSpec) map[string]error {
	selected, once := selector("other"), template
	once.Spec.RestartPolicy = corev1.RestartPolicyNever
	name, dry := metav1.ObjectMeta{Name: "other"}, metav1.CreateOptions{DryRun: dryRunAll}
	errs := map[string]error{}
	note := func(kind string, of func() corev1.PodTemplateSpec, err error) {
		if errs[kind] = err; err == nil && of().Annotations[userInfo] != says("anna") {
			errs[kind] = fmt.Errorf("the template says %v", of().Annotations)
		}
	}
	apps, batch := client.AppsV1(), client.BatchV1()
	deployed, err := apps.Deployments(namespace).Create(w.ctx, deployment("other", 1, template), dry)
	note("Deployment", func() corev1.PodTemplateSpec { return deployed.Spec.Template }, err)
	replicated, err := apps.ReplicaSets(namespace).Create(w.ctx, &appsv1.ReplicaSet{ObjectMeta: name, Spec: appsv1.ReplicaSetSpec{Selector: selected, Template: template}}, dry)
	note("ReplicaSet", func() corev1.PodTemplateSpec { return replicated.Spec.Template }, err)
	stateful, err := apps.StatefulSets(namespace).Create(w.ctx, &appsv1.StatefulSet{ObjectMeta: name, Spec: appsv1.StatefulSetSpec{Selector: selected, Template: template}}, dry)
	note("StatefulSet", func() corev1.PodTemplateSpec { return stateful.Spec.Template }, err)
	everywhere, err := apps.DaemonSets(namespace).Create(w.ctx, daemonSet("other", template), dry)
	note("DaemonSet", func() corev1.PodTemplateSpec { return everywhere.Spec.Template }, err)
	controlled, err := client.CoreV1().ReplicationControllers(namespace).Create(w.ctx, &corev1.ReplicationController{ObjectMeta: name, Spec: corev1.ReplicationControllerSpec{Selector: selected.MatchLabels, Template: &template}}, dry)
	note("ReplicationController", func() corev1.PodTemplateSpec { return *controlled.Spec.Template }, err)
	worked, err := batch.Jobs(namespace).Create(w.ctx, job("other", 1, 1, template), dry)
	note("Job", func() corev1.PodTemplateSpec { return worked.Spec.Template }, err)
	timed, err := batch.CronJobs(namespace).Create(w.ctx, &batchv1.CronJob{ObjectMeta: name, Spec: batchv1.CronJobSpec{
		Schedule: "@daily", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: once}},
	}}, dry)
	note("CronJob", func() corev1.PodTemplateSpec { return timed.Spec.JobTemplate.Spec.Template }, err)
	return errs
}

// manyGroups has a user with a name that is hard to write, and ten times more groups than users
// have, create a pod: what is written can be read.
func (w *World) manyGroups() {
	w.t.Helper()
	const name = `o"neil\ü`
	groups := make([]string, 1000)
	for i := range groups {
		groups[i] = fmt.Sprintf("team-%d", i)
	}
	p, err := w.as(name, groups...).CoreV1().Pods(namespace).Create(w.ctx, pod("hard", 1, w.limitedPod("hard", "")), metav1.CreateOptions{DryRun: dryRunAll})
	w.check(err)
	var info struct {
		User   string
		Groups []string
	}
	w.check(json.Unmarshal([]byte(p.Annotations[userInfo]), &info))
	assert.Equal(w.t, info.User, name)
	assert.DeepEqual(w.t, info.Groups, slices.Concat(groups, []string{"system:authenticated"}))
}
