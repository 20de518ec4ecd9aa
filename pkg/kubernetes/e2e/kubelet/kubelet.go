package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

const (
	workers     = 16 // requests under way at once
	resizeAgain = time.Second
)

// Options are what kubelets are started with.
type Options struct {
	Client       kubernetes.Interface
	Log          *slog.Logger
	LeaseEvery   time.Duration // how often a node renews its lease; zero is never
	GracePercent int64         // the part of its grace period that passes before a deleted pod is gone
}

// Kubelets play all nodes of a cluster, until Stop.
type Kubelets struct {
	options   Options
	factory   informers.SharedInformerFactory
	pods      listers.PodLister
	nodes     listers.NodeLister
	queue     workqueue.TypedRateLimitingInterface[types.NamespacedName]
	residents *residents
	stop      context.CancelFunc
	done      sync.WaitGroup
	now       func() time.Time

	mu        sync.Mutex
	silent    map[string]bool // nodes
	leased    []string        // nodes
	addresses uint32          // given to pods so far
}

// Start plays kubelets from now on, for nodes that are there and for those of AddNode.
func Start(ctx context.Context, options Options) (*Kubelets, error) {
	ctx, stop := context.WithCancel(ctx)
	k := &Kubelets{
		options: options,
		factory: informers.NewSharedInformerFactory(options.Client, 0),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](50*time.Millisecond, 2*time.Second)),
		residents: newResidents(),
		stop:      stop,
		now:       time.Now,
		silent:    make(map[string]bool),
	}
	pods := k.factory.Core().V1().Pods()
	k.pods, k.nodes = pods.Lister(), k.factory.Core().V1().Nodes().Lister()
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    k.seen,
		UpdateFunc: func(_, now any) { k.seen(now) },
		DeleteFunc: k.seen,
	}); err != nil {
		stop()
		return nil, fmt.Errorf("kubelets: %w", err)
	}
	k.factory.Start(ctx.Done())
	for kind, ok := range k.factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			k.Stop()
			return nil, fmt.Errorf("kubelets: %v were not read", kind)
		}
	}
	for range workers {
		k.done.Go(func() { k.work(ctx) })
	}
	if options.LeaseEvery > 0 {
		k.done.Go(func() { k.renewEvery(ctx) })
	}
	return k, nil
}

// Stop ends all kubelets. Nodes and pods stay as they are.
func (k *Kubelets) Stop() {
	k.stop()
	k.queue.ShutDown()
	k.done.Wait()
	k.factory.Shutdown()
}

func (k *Kubelets) renewEvery(ctx context.Context) {
	ticker := time.NewTicker(k.options.LeaseEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			k.renewAll(ctx)
		}
	}
}

// seen queues a pod that is on a node.
func (k *Kubelets) seen(object any) {
	if pod, ok := pods.LastKnown(object).(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		k.queue.Add(keyOf(pod))
	}
}

func (k *Kubelets) work(ctx context.Context) {
	for {
		key, closed := k.queue.Get()
		if closed {
			return
		}
		wait, err := k.reconcile(ctx, key)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			k.options.Log.Warn("trying again", "pod", key, "error", err)
			k.queue.AddRateLimited(key)
		default:
			k.queue.Forget(key)
			if wait > 0 {
				k.queue.AddAfter(key, wait)
			}
		}
		k.queue.Done(key)
	}
}

// reconcile does the next step of a pod, or returns how long it has to wait.
func (k *Kubelets) reconcile(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	pod, err := k.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		k.residents.forget(key)
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the cache: %w", err)
	}
	k.mu.Lock()
	silent := k.silent[pod.Spec.NodeName]
	k.mu.Unlock()
	node, err := k.nodes.Get(pod.Spec.NodeName)
	if silent || apierrors.IsNotFound(err) {
		return 0, nil // Resume queues it again; the pods of a node that is gone are collected by a controller
	}
	if err != nil {
		return 0, fmt.Errorf("reading the cache: %w", err)
	}
	now := k.now()
	s := next(now, pod, k.residents.see(now, pod, node.Status.Allocatable), k.options.GracePercent)
	if s.after > 0 {
		return s.after, nil
	}
	return k.do(ctx, pod, node, s)
}

// do does a step. The API server sends the pod again after it, which queues the next one.
func (k *Kubelets) do(ctx context.Context, pod *corev1.Pod, node *corev1.Node, s step) (time.Duration, error) {
	now := k.now()
	switch s.do {
	case start:
		return 0, k.patch(ctx, pod, running(now, pod, k.address()))
	case refuse:
		return 0, k.patch(ctx, pod, refused(pod, s.why))
	case finish:
		return 0, k.end(ctx, pod, over(now, pod, s.code))
	case stop:
		return 0, k.end(ctx, pod, over(now, pod, 0))
	case resize:
		return k.resize(ctx, pod, node)
	case remove:
		return 0, k.remove(ctx, pod)
	}
	return 0, nil
}

// end says that a pod has ended, and has its room free before: a scheduler may use it as soon as
// the API server knows.
func (k *Kubelets) end(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	k.residents.vacate(pod)
	return k.patch(ctx, pod, status)
}

func (k *Kubelets) resize(ctx context.Context, pod *corev1.Pod, node *corev1.Node) (time.Duration, error) {
	reason := k.residents.resize(pod, node.Status.Allocatable)
	if reason == "" {
		return 0, k.patch(ctx, pod, resized(pod))
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodResizePending && c.Reason == reason {
			return resizeAgain, nil
		}
	}
	return resizeAgain, k.patch(ctx, pod, pendingResize(k.now(), pod, reason))
}

// patch changes the status of this pod, and not of a later one with its name.
func (k *Kubelets) patch(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	changes, err := fields(status)
	if err != nil {
		return err
	}
	if len(status.Conditions) == 0 && status.Phase == "" { // resized
		changes["conditions"] = []any{map[string]any{"$patch": "delete", "type": corev1.PodResizePending}}
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": changes})
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	_, err = k.options.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	return unlessGone("status", err)
}

// fields are those of a status that are set.
func fields(status corev1.PodStatus) (map[string]any, error) {
	text, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	var set map[string]any
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	return set, nil
}

func (k *Kubelets) remove(ctx context.Context, pod *corev1.Pod) error {
	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	return unlessGone("removal", k.options.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *options))
}

// unlessGone leaves out that the pod is not there any more, or another one is.
func unlessGone(what string, err error) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || errors.Is(err, context.Canceled) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// address is one that no other pod has.
func (k *Kubelets) address() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.addresses++
	return fmt.Sprintf("10.%d.%d.%d", 128+k.addresses>>16&63, k.addresses>>8&255, k.addresses&255)
}
