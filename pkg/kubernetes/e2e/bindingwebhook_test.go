package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// asked is the answer to a binding as the API server sends it.
func asked(h *BindingWebhook, pod, node string) string {
	const review = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": {"uid": "u", "name": %q, "object": {"target": {"kind": "Node", "name": %q}}}}`
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(fmt.Sprintf(review, pod, node))))
	return strings.TrimSpace(answer.Body.String())
}

func TestBindingWebhook(t *testing.T) {
	h := &BindingWebhook{refuse: func(a Attempt) bool { return a.Number <= 1 }, asked: make(chan struct{})}
	const refused = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":false,"status":{"metadata":{},"message":"this scenario refuses the binding","code":403}}}`
	assert.Equal(t, asked(h, probe, "n1"), refused)
	assert.Equal(t, asked(h, probe, "n1"), refused) // and the channel is closed once
	<-h.asked
	assert.Equal(t, asked(h, "a", "n1"), refused)
	assert.Equal(t, asked(h, "a", "n2"), `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":true}}`)
	assert.Equal(t, asked(h, "b", "n1"), refused)
	assert.DeepEqual(t, h.Attempts(), []Attempt{
		{Pod: "a", Node: "n1", Number: 1, Refused: true},
		{Pod: "a", Node: "n2", Number: 2},
		{Pod: "b", Node: "n1", Number: 1, Refused: true},
	})
}

func TestBindingWebhookRefusesWhatIsNoReview(t *testing.T) {
	for _, body := range []string{"", "{}", `{"request": {"object": []}}`} {
		answer := httptest.NewRecorder()
		(&BindingWebhook{}).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		assert.Equal(t, answer.Code, http.StatusBadRequest)
	}
}
