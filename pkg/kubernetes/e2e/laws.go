package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resources "k8s.io/component-helpers/resource"
)

// booksEvery is how often the web service is asked: it has nothing that can be watched
// and says when all that is under way has arrived.
const booksEvery = 100 * time.Millisecond

// CheckLaws checks what must hold after every scenario: no kubelet had to refuse a pod for
// want of room, no node has more than it can, the books of the scheduler are what the
// API server has, and its log is JSON.
func (w *World) CheckLaws() {
	w.t.Helper()
	if refused := w.observer.refusals(); len(refused) > 0 && !w.options.MayBeRefused {
		w.t.Errorf("kubelets had no room for pods that the scheduler had placed:\n%s", strings.Join(refused, "\n"))
	}
	pods, err := w.client.CoreV1().Pods(metav1.NamespaceAll).List(w.ctx, metav1.ListOptions{})
	w.check(err)
	nodes, err := w.client.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	w.check(err)
	for _, problem := range overcommitted(nodes.Items, pointers(pods.Items)) {
		w.t.Error(problem)
	}
	w.checkBooks()
	if process, err := w.cluster.Process(narwhalName); err == nil {
		for _, problem := range badLines(process.Log(logMax)) {
			w.t.Errorf("the log of %s: %s", narwhalName, problem)
		}
	}
}

// logMax is more lines than any log has.
const logMax = 1 << 30

// badLines lists the lines of a log that are not JSON with a level and a message, as what libraries
// print past the log, or a crash.
func badLines(log string) []string {
	var bad []string
	for line := range strings.SplitSeq(strings.TrimSpace(log), "\n") {
		var entry struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Level == "" || entry.Msg == "" {
			bad = append(bad, "no entry: "+line)
		}
	}
	return bad
}

func pointers(pods []corev1.Pod) []*corev1.Pod {
	all := make([]*corev1.Pod, len(pods))
	for i := range pods {
		all[i] = &pods[i]
	}
	return all
}

// overcommitted lists the nodes whose pods request more than there is.
func overcommitted(nodes []corev1.Node, pods []*corev1.Pod) []string {
	var found []string
	for _, node := range nodes {
		used := corev1.ResourceList{}
		for _, pod := range pods {
			if pod.Spec.NodeName != node.Name || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
				continue
			}
			for kind, amount := range resources.PodRequests(pod, resources.PodResourcesOptions{}) {
				sum := used[kind]
				sum.Add(amount)
				used[kind] = sum
			}
		}
		for _, kind := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if sum, room := used[kind], node.Status.Allocatable[kind]; sum.Cmp(room) > 0 {
				found = append(found, fmt.Sprintf("pods on %s request %s %v, it has %v", node.Name, kind, &sum, &room))
			}
		}
	}
	return found
}

// checkBooks waits until the books agree with the pods, since the last changes may be on
// their way. A scheduler without a web service has no books to read.
func (w *World) checkBooks() {
	w.t.Helper()
	if w.instance.REST() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	ticker := time.NewTicker(booksEvery)
	defer ticker.Stop()
	for {
		found, err := w.bookDifferences(ctx)
		if err == nil && len(found) == 0 {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			w.t.Errorf("the books of the scheduler are not the pods of the API server after %v (%v):\n%s", patience, err, strings.Join(found, "\n"))
			return
		}
	}
}

func (w *World) bookDifferences(ctx context.Context) ([]string, error) {
	nodes, err := w.Books(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := w.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return differences(nodes, pointers(pods.Items), w.scheduler.Name(), yunikornName), nil
}

// Books are the nodes as the web service of the scheduler shows them.
func (w *World) Books(ctx context.Context) ([]BookedNode, error) {
	var nodes []BookedNode
	err := w.readREST(ctx, "/ws/v1/partition/default/nodes", &nodes)
	return nodes, err
}

// readREST reads an answer of the web service of the scheduler.
func (w *World) readREST(ctx context.Context, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.instance.REST()+path, nil)
	if err != nil {
		return err
	}
	if w.token != "" {
		request.Header.Set("Authorization", "Bearer "+w.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the web service answers %s", response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		return fmt.Errorf("the web service: %w", err)
	}
	return nil
}
