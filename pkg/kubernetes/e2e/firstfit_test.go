package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	resources "k8s.io/component-helpers/resource"
)

// firstFit is the least scheduler there is: at every change of a pod or a node it lists
// everything, and binds what fits to the first node with room. It shows that scenarios run with a
// function of this process, and that its books are read.
type firstFit struct {
	client kubernetes.Interface
	name   string
}

// TestInProcess plays scenarios with it. A scheduler without preemption can be played with
// no more.
func TestInProcess(t *testing.T) {
	needControlPlane(t)
	scheduler := InProcess("first-fit", func(ctx context.Context, config *rest.Config, listen string) error {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		return (&firstFit{client, "first-fit"}).run(ctx, listen)
	})
	for _, s := range scenarios {
		if slices.Contains([]string{"foreign-pod", "job"}, s.name) {
			s.options.Restarts = true
			t.Run(s.name, func(t *testing.T) { play(t, s, scheduler, s.options) })
		}
	}
}

func (f *firstFit) run(ctx context.Context, listen string) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(f.serve)}
	go server.Serve(listener)
	defer server.Close()
	pods, err := f.client.CoreV1().Pods(metav1.NamespaceAll).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer pods.Stop()
	nodes, err := f.client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer nodes.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-pods.ResultChan():
		case <-nodes.ResultChan():
		}
		if err := f.schedule(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func (f *firstFit) schedule(ctx context.Context) error {
	nodes, pods, err := f.list(ctx)
	if err != nil {
		return err
	}
	for _, waiting := range pods {
		if !f.serves(waiting) || waiting.Spec.NodeName != "" || waiting.DeletionTimestamp != nil {
			continue
		}
		for _, node := range nodes {
			waiting.Spec.NodeName = node.Name
			if len(node.Spec.Taints) > 0 || len(overcommitted([]corev1.Node{node}, pods)) > 0 {
				waiting.Spec.NodeName = ""
				continue
			}
			binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: waiting.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: node.Name}}
			if err := f.client.CoreV1().Pods(waiting.Namespace).Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// serves reports whether a pod asks for it, by its name or by YuniKorn's, as scenarios do.
func (f *firstFit) serves(p *corev1.Pod) bool {
	return p.Spec.SchedulerName == f.name || p.Spec.SchedulerName == yunikornName
}

func (f *firstFit) list(ctx context.Context) ([]corev1.Node, []*corev1.Pod, error) {
	nodes, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	pods, err := f.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	return nodes.Items, pointers(pods.Items), nil
}

// serve answers with the nodes and what is on them.
func (f *firstFit) serve(w http.ResponseWriter, r *http.Request) {
	nodes, pods, err := f.list(r.Context())
	if err != nil || !strings.HasSuffix(r.URL.Path, "/partition/default/nodes") {
		http.Error(w, fmt.Sprint(err), http.StatusInternalServerError)
		return
	}
	booked := make([]BookedNode, len(nodes))
	for i, node := range nodes {
		booked[i].NodeID = node.Name
		for _, p := range pods {
			if p.Spec.NodeName != node.Name || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
				continue
			}
			a := Booked{Key: string(p.UID), Resource: make(map[string]int64)}
			for _, k := range bookedKinds {
				a.Resource[k.kind] = k.amount(resources.PodRequests(p, resources.PodResourcesOptions{}))
			}
			if f.serves(p) {
				booked[i].Allocations = append(booked[i].Allocations, a)
			} else {
				booked[i].ForeignAllocations = append(booked[i].ForeignAllocations, a)
			}
		}
	}
	json.NewEncoder(w).Encode(booked)
}
