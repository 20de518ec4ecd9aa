package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/cluster"
)

// An Attempt is a binding that a scheduler has sent.
type Attempt struct {
	Pod, Node string
	Number    int // of the attempts for this pod, from 1
	Refused   bool
}

// probe is a pod that does not exist. A binding of it shows whether the API server asks the
// webhook by now: there is nothing that can be watched for that.
const probe = "probe-of-the-webhook"

const probeEvery = 50 * time.Millisecond

// A BindingWebhook is asked by the API server before every binding.
type BindingWebhook struct {
	authority *cluster.Authority
	listener  net.Listener
	server    *http.Server
	refuse    func(Attempt) bool

	mu       sync.Mutex
	attempts []Attempt
	asked    chan struct{} // closed when the API server has asked for the first time
}

func startBindingWebhook(authority *cluster.Authority, refuse func(Attempt) bool) (*BindingWebhook, error) {
	certificate, err := authority.Issue("binding-webhook")
	if err != nil {
		return nil, err
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	h := &BindingWebhook{authority: authority, listener: listener, refuse: refuse, asked: make(chan struct{})}
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: patience}
	go h.server.Serve(listener) //nolint:errcheck // it ends by stop, with an error that says so
	return h, nil
}

func (h *BindingWebhook) stop() error { return h.server.Close() }

// register tells the API server to ask, and returns when it does.
func (h *BindingWebhook) register(ctx context.Context, client kubernetes.Interface) error {
	configuration := &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "bindings"},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "bindings.e2e.narwhal.test",
			ClientConfig: registrationv1.WebhookClientConfig{
				URL:      new("https://" + h.listener.Addr().String() + "/"),
				CABundle: h.authority.Bundle(),
			},
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.Create},
				Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/binding"}},
			}},
			FailurePolicy:           new(registrationv1.Fail),
			SideEffects:             new(registrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, configuration, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: probe, Namespace: namespace}, Target: corev1.ObjectReference{Kind: "Node", Name: probe}}
		_ = client.CoreV1().Pods(namespace).Bind(ctx, binding, metav1.CreateOptions{}) // it fails either way
		select {
		case <-h.asked:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("the API server does not ask the webhook: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

// ServeHTTP answers the API server.
func (h *BindingWebhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, fmt.Sprintf("no admission review: %v", err), http.StatusBadRequest)
		return
	}
	var binding corev1.Binding
	if err := json.Unmarshal(review.Request.Object.Raw, &binding); err != nil {
		http.Error(w, fmt.Sprintf("no binding: %v", err), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if !h.allow(review.Request.Name, binding.Target.Name) {
		review.Response.Allowed = false
		review.Response.Result = &metav1.Status{Message: "this scenario refuses the binding", Code: http.StatusForbidden}
	}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // the API server has gone; its timeout tells the scheduler
}

func (h *BindingWebhook) allow(pod, node string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if pod == probe {
		select {
		case <-h.asked:
		default:
			close(h.asked)
		}
		return false
	}
	attempt := Attempt{Pod: pod, Node: node, Number: 1}
	for _, earlier := range h.attempts {
		if earlier.Pod == pod {
			attempt.Number++
		}
	}
	attempt.Refused = h.refuse(attempt)
	h.attempts = append(h.attempts, attempt)
	return !attempt.Refused
}

// Attempts are all that were made so far, in their order.
func (h *BindingWebhook) Attempts() []Attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.attempts)
}
