package replica

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// roles is an API server with users by token. Ann may read her queue, the operator everything.
func roles(asked *int, broken *bool) *fake.Clientset {
	users := map[string]string{"token-of-ann": "ann", "token-of-operator": "operator", "token-of-others": "operator"}
	client := &fake.Clientset{}
	client.AddReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		*asked++
		review := action.(clienttesting.CreateAction).GetObject().(*authentication.TokenReview).DeepCopy()
		review.Status.User.Username = users[review.Spec.Token]
		review.Status.Authenticated = review.Status.User.Username != ""
		if review.Spec.Token != "token-of-others" { // one of an audience that the API server does not look at
			review.Status.Audiences = review.Spec.Audiences
		}
		if *broken {
			return true, nil, errors.New("no leader")
		}
		return true, review, nil
	})
	client.AddReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorization.SubjectAccessReview).DeepCopy()
		about := *review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == "operator" ||
			review.Spec.User == "ann" && about == authorization.NonResourceAttributes{Path: "/ws/v1/partition/default/queue/root.ann", Verb: "get"}
		return true, review, nil
	})
	return client
}

// The API server knows which tokens are good, and what their users may read. It is asked once in a
// while about the same, and again at once where it did not answer.
func TestAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, broken := 0, false
		a := NewAccess(roles(&asked, &broken))
		request := func(token, method, path string) error {
			r, err := http.NewRequestWithContext(context.Background(), method, path, nil)
			assert.NilError(t, err)
			return a.Admit(r, token)
		}
		own, all := "/ws/v1/partition/default/queue/root.ann?x=1", "/ws/v1/partition/default/queues"
		assert.NilError(t, request("token-of-ann", "GET", own))
		assert.ErrorIs(t, request("token-of-ann", "GET", all), failure.ErrForbidden)
		assert.ErrorIs(t, request("token-of-ann", "POST", own), failure.ErrForbidden)
		assert.NilError(t, request("token-of-operator", "GET", all))
		assert.ErrorIs(t, request("token", "GET", all), failure.ErrUnauthorized)
		assert.ErrorIs(t, request("token-of-others", "GET", all), failure.ErrUnauthorized)
		assert.Equal(t, asked, 6)
		assert.NilError(t, request("token-of-ann", "GET", own))
		assert.Equal(t, asked, 6)
		for path, want := range map[string]bool{"/ws/v1/partition/default/queue/root.ann": true, "/ws/v1/partition/default/queue/root": false} {
			r, err := http.NewRequestWithContext(context.Background(), "GET", all, nil)
			assert.NilError(t, err)
			sees, err := a.Sees(r, "token-of-ann", path)
			assert.NilError(t, err)
			assert.Equal(t, sees, want)
		}
		assert.Equal(t, asked, 7) // the first was known
		broken = true
		time.Sleep(accessKeep)
		assert.ErrorIs(t, request("token-of-ann", "GET", own), failure.ErrUnavailable)
		broken = false
		assert.NilError(t, request("token-of-ann", "GET", own))
		assert.Equal(t, asked, 9)
	})
}

// What is remembered is bounded, whatever clients ask for.
func TestAccessRemembersLittle(t *testing.T) {
	asked, broken := 0, false
	a := NewAccess(roles(&asked, &broken))
	for i := range 3 * accessMax {
		r, err := http.NewRequestWithContext(context.Background(), "GET", "/ws/"+time.Duration(i).String(), nil)
		assert.NilError(t, err)
		assert.ErrorIs(t, a.Admit(r, "token"), failure.ErrUnauthorized)
	}
	assert.Assert(t, len(a.known.Keys()) <= accessMax)
}
