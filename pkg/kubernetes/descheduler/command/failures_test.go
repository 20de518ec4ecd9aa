package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
)

type answer struct {
	code int
	err  error
}

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.code, Status: fmt.Sprint(a.code, " ", http.StatusText(a.code))}, nil
}

// TestLastFailure: what the API server refuses or does not answer is remembered; that one object is not
// there is an ordinary answer, and so is a conflict.
func TestLastFailure(t *testing.T) {
	for _, c := range []struct {
		path string
		answer
		want string
	}{
		{"/api/v1/pods?limit=500", answer{code: 200}, ""},
		{"/api/v1/pods?limit=500", answer{code: 403}, "GET /api/v1/pods: 403 Forbidden"},
		{"/api/v1/pods/x", answer{code: 401}, "GET /api/v1/pods/x: 401 Unauthorized"},
		{"/api/v1/pods/x", answer{code: 503}, "GET /api/v1/pods/x: 503 Service Unavailable"},
		{"/api/v1/pods/x", answer{code: 404}, ""},
		{"/apis/x/v1/jobs?limit=500", answer{code: 404}, "GET /apis/x/v1/jobs: 404 Not Found"},
		{"/api/v1/pods/x", answer{code: 409}, ""},
		{"/api/v1/pods/x", answer{code: 429}, ""}, // a disruption budget
		{"/api/v1/pods", answer{err: errors.New("connection refused")}, "GET /api/v1/pods: connection refused"},
		{"/api/v1/pods", answer{err: context.Canceled}, ""},
	} {
		var f failures
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a"+c.path, nil)
		assert.NilError(t, err)
		response, err := f.wrap(c.answer).RoundTrip(request)
		if err == nil && response.Body != nil {
			assert.NilError(t, response.Body.Close())
		}
		assert.ErrorIs(t, err, c.err)
		assert.Assert(t, strings.HasSuffix(f.line(), c.want) && (c.want == "") == (f.line() == ""), "%v: %s", c, f.line())
		explained := f.explain(fmt.Errorf("%w: v1.Pod", descheduler.ErrUnread)).Error()
		assert.Equal(t, strings.Contains(explained, "last failure"), c.want != "", explained)
		assert.Error(t, f.explain(errors.New("other")), "other")
	}
}

// TestErrorsOfOneCycleSayWhatTheAPIServerAnswered: all requests of a process are seen.
func TestErrorsOfOneCycleSayWhatTheAPIServerAnswered(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(server.Close)
	s, r, _ := newProcess(t, smallest+"profiles: [{}]\n", nil)
	r.how = &rest.Config{Host: server.URL}
	r.build = func(ctx context.Context, p *parts) (descheduling, error) {
		client, err := kubernetes.NewForConfig(p.how)
		assert.NilError(t, err)
		return &fakeDescheduling{run: func(context.Context) error {
			_, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
			assert.ErrorContains(t, err, "get pods")
			return descheduler.ErrUnread
		}}, nil
	}
	s.dryRun = true
	assert.ErrorContains(t, s.run(t.Context(), r), "GET /api/v1/pods: 403 Forbidden")
}
