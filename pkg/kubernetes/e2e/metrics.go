package e2e

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// metricsService tells the API server where the API of metrics is served: at a port of this machine.
const metricsService = `apiVersion: v1
kind: Service
metadata: {name: metrics, namespace: default}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  service: {name: metrics, namespace: default, port: %d}
  insecureSkipTLSVerify: true
  groupPriorityMinimum: 100
  versionPriority: 100
`

// ServeMetrics plays metrics-server until the function that it returns is called. Each pod uses what the file says of one of its
// application, on whichever node it runs, and each node what its pods use and what the file says of it beside those.
func (w *World) ServeMetrics(f FileCluster) (stop func()) {
	w.t.Helper()
	certificate, err := w.cluster.Authority.Issue("metrics")
	w.check(err)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	w.check(err)
	m := newMeters(f, w.observer.view)
	server := &http.Server{Handler: m.handler(), ReadHeaderTimeout: patience}
	go server.Serve(listener) //nolint:errcheck // it ends with the test, with an error that says so
	w.t.Cleanup(func() { w.check(server.Close()) })
	file := filepath.Join(w.cluster.Folder(), "metrics.yaml")
	w.check(os.WriteFile(file, fmt.Appendf(nil, metricsService, listener.Addr().(*net.TCPAddr).Port), 0o600))
	w.Kubectl("apply", "--filename", file)
	w.Kubectl("wait", "--for=condition=Available", "--timeout=60s", "apiservice/v1beta1.metrics.k8s.io")
	return func() { w.Kubectl("delete", "--filename", file) }
}

// meters measure a cluster.
type meters struct {
	view   View
	apps   map[string]corev1.ResourceList // what a pod of an application uses
	beside []metricsv1beta1.NodeMetrics   // what nodes use beside their pods
}

func newMeters(f FileCluster, view View) *meters {
	m := &meters{view: view, apps: map[string]corev1.ResourceList{}, beside: f.NodeMetrics}
	for _, p := range f.Pods {
		i := slices.IndexFunc(f.PodMetrics, func(of metricsv1beta1.PodMetrics) bool { return of.Namespace == p.Namespace && of.Name == p.Name })
		use := f.PodMetrics[i].Containers[0].Usage
		m.apps[p.Labels[appLabel]] = use
		for _, node := range m.beside {
			for kind, amount := range use {
				if left := node.Usage[kind]; node.Name == p.Spec.NodeName {
					left.Sub(amount)
					node.Usage[kind] = left
				}
			}
		}
	}
	return m
}

// running are the pods that use something.
func (m *meters) running() []*corev1.Pod {
	return slices.DeleteFunc(m.view.podsOf(""), func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
}

// pods are the metrics of all pods.
func (m *meters) pods() metricsv1beta1.PodMetricsList {
	list := metricsv1beta1.PodMetricsList{TypeMeta: metav1.TypeMeta{APIVersion: metricsv1beta1.SchemeGroupVersion.String(), Kind: "PodMetricsList"}}
	for _, p := range m.running() {
		list.Items = append(list.Items, metricsv1beta1.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
			Timestamp:  metav1.Now(), Window: metav1.Duration{Duration: metricsWindow},
			Containers: []metricsv1beta1.ContainerMetrics{{Name: p.Spec.Containers[0].Name, Usage: m.apps[p.Labels[appLabel]]}},
		})
	}
	return list
}

// nodes are the metrics of all nodes.
func (m *meters) nodes() metricsv1beta1.NodeMetricsList {
	list := metricsv1beta1.NodeMetricsList{TypeMeta: metav1.TypeMeta{APIVersion: metricsv1beta1.SchemeGroupVersion.String(), Kind: "NodeMetricsList"}}
	running := m.running()
	for _, node := range m.beside {
		use := node.Usage.DeepCopy()
		for _, p := range running {
			for kind, amount := range m.apps[p.Labels[appLabel]] {
				if sum := use[kind]; p.Spec.NodeName == node.Name {
					sum.Add(amount)
					use[kind] = sum
				}
			}
		}
		list.Items = append(list.Items, metricsv1beta1.NodeMetrics{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name}, Timestamp: metav1.Now(), Window: metav1.Duration{Duration: metricsWindow}, Usage: use,
		})
	}
	return list
}

// metricsWindow is over what time use is measured.
const metricsWindow = 30 * time.Second

// handler answers the API server, which asks what resources there are and passes lists on.
func (m *meters) handler() http.Handler {
	const path = "/apis/metrics.k8s.io/v1beta1"
	answer := func(of func() any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(of()) // the API server has gone
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+path, answer(func() any {
		return metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: metricsv1beta1.SchemeGroupVersion.String(),
			APIResources: []metav1.APIResource{
				{Name: "nodes", Kind: "NodeMetrics", Verbs: metav1.Verbs{"get", "list"}},
				{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}},
			},
		}
	}))
	mux.Handle("GET "+path+"/nodes", answer(func() any { return m.nodes() }))
	mux.Handle("GET "+path+"/pods", answer(func() any { return m.pods() }))
	return mux
}
