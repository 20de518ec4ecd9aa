package shimtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"
)

var podResource = v1.SchemeGroupVersion.WithResource("pods")

func init() {
	// A watch of the fake clientset panics when its reader is this far behind. Each of the twenty of a
	// scheduler has room for as much from the start.
	watch.DefaultChanSize = 1 << 12
}

// Faults are how an API server fails. Each is asked before a request is carried out; nil is
// no fault. They run with the lock of the server held.
type Faults struct {
	// Bind says what comes of a binding: the error that the client sees, and whether it is
	// carried out all the same.
	Bind func(pod *v1.Pod, node string) (carriedOut bool, err error)
	// Get is the error of reading a pod.
	Get func(name string) error
	// Create is the error of making a pod.
	Create func(name string) error
	// Delete is the error of deleting a pod, Evict that of evicting one.
	Delete, Evict func(name string) error
	// Look is the error of asking what the server serves.
	Look func() error
	// Patch is the error of changing the status of a pod.
	Patch func(name string) error
}

// An API is an API server in memory, and its client. It gives names, UIDs, versions and
// times as a real one does.
type API struct {
	*fake.Clientset
	Dynamic *dynamicfake.FakeDynamicClient // has the pod groups
	tracker testing.ObjectTracker

	changing sync.Mutex // held while a pod is read and written again

	mu       sync.Mutex
	faults   Faults
	bindings []string // "pod node" of those that were carried out, in order
	deleted  []string // names of pods that were deleted, in order
	requests map[string]int
	versions int                       // of claims
	made     map[string]int            // pods that a client made, by name
	serves   []*metav1.APIResourceList // beside what every API server does
	refused  map[schema.GroupVersion]bool
	watches  []watch.Interface // of pod groups
}

// NewAPI makes an API server with the namespace default.
func NewAPI() *API {
	codecs := scheme.Codecs.UniversalDecoder()
	a := &API{Clientset: &fake.Clientset{}, tracker: testing.NewObjectTracker(scheme.Scheme, codecs), requests: map[string]int{}, made: map[string]int{}, refused: map[schema.GroupVersion]bool{}}
	a.newDynamic()
	a.AddReactor("*", "*", a.refuse)
	a.AddReactor("create", "pods", a.create)
	a.AddReactor("delete", "pods", a.remove)
	a.AddReactor("get", "pods", func(action testing.Action) (bool, runtime.Object, error) {
		return a.fail("get", a.fault().Get, action.(testing.GetAction).GetName())
	})
	a.AddReactor("patch", "pods", a.patch)
	a.AddReactor("create", "resourceclaims", a.version)
	a.AddReactor("update", "resourceclaims", a.version)
	a.AddReactor("*", "*", testing.ObjectReaction(a.tracker))
	a.AddWatchReactor("*", func(action testing.Action) (bool, watch.Interface, error) {
		var options metav1.ListOptions
		if w, ok := action.(testing.WatchActionImpl); ok {
			options = w.ListOptions
		}
		w, err := a.tracker.Watch(action.GetResource(), action.GetNamespace(), options)
		return err == nil, w, err
	})
	a.Serve(resourcev1.SchemeGroupVersion, "resourceclaims")
	a.must(a.tracker.Add(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}}))
	return a
}

// version gives a claim that is written a name, if it has a prefix of one only, and the next version. The caches of the plugin
// compare versions, and a writer of an old one is told to read it again.
func (a *API) version(action testing.Action) (bool, runtime.Object, error) {
	claim := action.(testing.UpdateAction).GetObject().(*resourcev1.ResourceClaim)
	a.mu.Lock()
	defer a.mu.Unlock()
	isNew := action.GetVerb() == "create"
	if is, err := a.tracker.Get(action.GetResource(), claim.Namespace, claim.Name); err == nil && !isNew && is.(*resourcev1.ResourceClaim).ResourceVersion != claim.ResourceVersion {
		return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), claim.Name, errors.New("it has changed"))
	}
	a.versions++
	claim.ResourceVersion = strconv.Itoa(a.versions)
	if !isNew {
		return true, claim, a.tracker.Update(action.GetResource(), claim, claim.Namespace)
	}
	if claim.Name == "" {
		claim.Name, claim.UID = claim.GenerateName+claim.ResourceVersion, types.UID("uid-claim-"+claim.ResourceVersion)
	}
	return false, nil, nil
}

// Serve has the server say that it serves a resource, such as podgroups.
func (a *API) Serve(version schema.GroupVersion, resource string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.refused, version)
	a.serves = append(a.serves, &metav1.APIResourceList{
		GroupVersion: version.String(), APIResources: []metav1.APIResource{{Name: resource, Namespaced: true}},
	})
}

// Refuse has the server serve no resource of a group, end what watches pod groups, and answer requests as a server does that does
// not know the group.
func (a *API) Refuse(version schema.GroupVersion) {
	a.mu.Lock()
	a.refused[version] = true
	a.serves = slices.DeleteFunc(a.serves, func(r *metav1.APIResourceList) bool { return r.GroupVersion == version.String() })
	watches := a.watches
	a.watches = nil
	a.mu.Unlock()
	for _, w := range watches {
		w.Stop()
	}
}

// refuse answers requests for a version that is refused.
func (a *API) refuse(action testing.Action) (bool, runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.refused[action.GetResource().GroupVersion()] {
		return false, nil, nil
	}
	return true, nil, apierrors.NewNotFound(action.GetResource().GroupResource(), "")
}

// Discovery says what Serve was told. Each call is a look.
func (a *API) Discovery() discovery.DiscoveryInterfaces {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests["look"]++
	says := &testing.Fake{Resources: slices.Clone(a.serves)}
	if fault := a.faults.Look; fault != nil {
		says.AddReactor("get", "*", func(testing.Action) (bool, runtime.Object, error) { return true, nil, fault() })
	}
	return &fakediscovery.FakeDiscovery{Fake: says}
}

func (a *API) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("shimtest: %v", err))
	}
}

// Fail sets how the server fails from now on.
func (a *API) Fail(faults Faults) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = faults
}

func (a *API) fault() Faults {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.faults
}

func (a *API) fail(verb string, fault func(string) error, name string) (bool, runtime.Object, error) {
	a.mu.Lock()
	a.requests[verb]++
	a.mu.Unlock()
	if fault != nil {
		if err := fault(name); err != nil {
			return true, nil, err
		}
	}
	return false, nil, nil
}

// Requests is how many requests with a verb there were about pods: bind, get, patch, delete. A group is one that changes the status of
// a pod group, a look one at what the server serves, and unknown are those for pod groups in a version that it does not serve.
func (a *API) Requests(verb string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests[verb]
}

// Bindings are those that were carried out, as "pod node", in order.
func (a *API) Bindings() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.bindings...)
}

// Deleted are the names of pods that were deleted by a client, in order.
func (a *API) Deleted() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.deleted...)
}

// patch changes a pod, unless there is another one of its name by now.
func (a *API) patch(action testing.Action) (bool, runtime.Object, error) {
	request := action.(testing.PatchActionImpl)
	if handled, _, err := a.fail("patch", a.fault().Patch, request.Name); handled {
		return true, nil, err
	}
	a.changing.Lock()
	defer a.changing.Unlock()
	var says struct{ Metadata struct{ UID types.UID } }
	if err := json.Unmarshal(request.Patch, &says); err != nil {
		return true, nil, apierrors.NewBadRequest(err.Error())
	}
	pod, err := a.pod(request.Namespace, request.Name)
	if err == nil && says.Metadata.UID != "" && says.Metadata.UID != pod.UID {
		return true, nil, apierrors.NewConflict(podResource.GroupResource(), pod.Name, fmt.Errorf("the UID differs"))
	}
	return testing.ObjectReaction(a.tracker)(action)
}

// create binds pods and makes them; what else is created is left to the tracker.
func (a *API) create(action testing.Action) (bool, runtime.Object, error) {
	switch action.GetSubresource() {
	case "binding":
	case "eviction":
		return a.evict(action.(testing.CreateAction).GetObject().(*policy.Eviction))
	default:
		return a.make(action.(testing.CreateAction).GetObject().(*v1.Pod))
	}
	binding := action.(testing.CreateAction).GetObject().(*v1.Binding)
	a.mu.Lock()
	a.requests["bind"]++
	fault := a.faults.Bind
	a.mu.Unlock()
	pod, err := a.pod(binding.Namespace, binding.Name)
	if err != nil {
		return true, nil, err
	}
	carriedOut, failure := true, error(nil)
	if fault != nil {
		carriedOut, failure = fault(pod, binding.Target.Name)
	}
	if carriedOut {
		if err := a.Bind(pod, binding.UID, binding.Target.Name); err != nil && failure == nil {
			failure = err
		}
	}
	return true, binding, failure
}

// make gives a pod what it has from the server, and leaves it to the tracker.
func (a *API) make(pod *v1.Pod) (bool, runtime.Object, error) {
	if handled, _, err := a.fail("create", a.fault().Create, pod.Name); handled {
		return true, nil, err
	}
	if _, err := a.pod(pod.Namespace, pod.Name); err == nil {
		return false, nil, nil // the tracker refuses it
	}
	pod.UID = types.UID("uid-" + pod.Name)
	a.mu.Lock()
	if a.made[pod.Name]++; a.made[pod.Name] > 1 {
		pod.UID += types.UID(fmt.Sprint("-", a.made[pod.Name]))
	}
	a.mu.Unlock()
	pod.CreationTimestamp, pod.Status.Phase = metav1.NewTime(time.Now().Truncate(time.Second)), v1.PodPending
	return false, nil, nil
}

// Bind gives a pod its node, as a binding of any scheduler does. An empty UID is any.
func (a *API) Bind(pod *v1.Pod, uid types.UID, node string) error {
	conflict := func(text string) error {
		return apierrors.NewConflict(podResource.GroupResource(), pod.Name, fmt.Errorf("%s", text))
	}
	a.changing.Lock()
	defer a.changing.Unlock()
	pod, err := a.pod(pod.Namespace, pod.Name)
	switch {
	case err != nil:
		return err
	case uid != "" && uid != pod.UID:
		return conflict("the UID differs")
	case pod.Spec.NodeName != "":
		return conflict("the pod has node " + pod.Spec.NodeName)
	case pod.DeletionTimestamp != nil:
		return conflict("the pod is being deleted")
	}
	pod = pod.DeepCopy()
	pod.Spec.NodeName = node
	pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodScheduled })
	pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue})
	a.mu.Lock()
	a.bindings = append(a.bindings, pod.Name+" "+node)
	a.mu.Unlock()
	return a.tracker.Update(podResource, pod, pod.Namespace)
}

// remove deletes a pod: at once if it has no node, else when the kubelet has ended it.
func (a *API) remove(action testing.Action) (bool, runtime.Object, error) {
	request := action.(testing.DeleteActionImpl)
	if handled, _, err := a.fail("delete", a.fault().Delete, request.Name); handled {
		return true, nil, err
	}
	a.changing.Lock()
	defer a.changing.Unlock()
	pod, err := a.pod(request.Namespace, request.Name)
	if err != nil {
		return true, nil, err
	}
	if p := request.DeleteOptions.Preconditions; p != nil && p.UID != nil && *p.UID != pod.UID {
		return true, nil, apierrors.NewConflict(podResource.GroupResource(), pod.Name, fmt.Errorf("the UID differs"))
	}
	a.mu.Lock()
	a.deleted = append(a.deleted, pod.Name)
	a.mu.Unlock()
	if pod.Spec.NodeName == "" {
		return true, nil, a.tracker.Delete(podResource, pod.Namespace, pod.Name)
	}
	grace := int64(30)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	pod = pod.DeepCopy()
	if pod.DeletionTimestamp == nil {
		at := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second))
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &grace
	}
	return true, nil, a.tracker.Update(podResource, pod, pod.Namespace)
}

// evict deletes a pod unless a budget forbids it, which is a fault here.
func (a *API) evict(e *policy.Eviction) (bool, runtime.Object, error) {
	if handled, _, err := a.fail("evict", a.fault().Evict, e.Name); handled {
		return true, nil, err
	}
	_, _, err := a.remove(testing.NewDeleteActionWithOptions(podResource, e.Namespace, e.Name, *e.DeleteOptions))
	return true, e, err
}

// change changes a pod.
func (a *API) change(pod *v1.Pod, change func(*v1.Pod)) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	pod, err := a.pod(pod.Namespace, pod.Name)
	if err != nil {
		return err
	}
	pod = pod.DeepCopy()
	change(pod)
	return a.tracker.Update(podResource, pod, pod.Namespace)
}

// pod is a pod as the server has it.
func (a *API) pod(namespace, name string) (*v1.Pod, error) {
	object, err := a.tracker.Get(podResource, namespace, name)
	if err != nil {
		return nil, err
	}
	return object.(*v1.Pod), nil
}
