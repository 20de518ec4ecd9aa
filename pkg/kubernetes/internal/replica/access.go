package replica

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// What is remembered of answers of the API server.
const (
	accessKeep = 10 * time.Second
	accessMax  = 20_000 // of as many tokens, methods and paths
)

// An Access has the API server decide about requests: whose token it is, and whether the roles of that
// user allow the method and the path, as of a URL that is no resource.
type Access struct {
	client kubernetes.Interface
	known  *cache.LRUExpireCache // what was refused and why, nil where all was allowed, by accessKey
}

type accessKey struct {
	token      [sha256.Size]byte
	verb, path string
}

// NewAccess asks with a client. It is safe for concurrent use.
func NewAccess(client kubernetes.Interface) *Access {
	return &Access{client: client, known: cache.NewLRUExpireCache(accessMax)}
}

// Admit is webservice.ServerConfig.Admit. What the API server said is remembered for a moment, and
// that it did not answer is not.
func (a *Access) Admit(r *http.Request, token string) error {
	return a.decide(r, token, strings.ToLower(r.Method), r.URL.Path)
}

// Sees is webservice.ServerConfig.Sees.
func (a *Access) Sees(r *http.Request, token, path string) (bool, error) {
	err := a.decide(r, token, "get", path)
	if errors.Is(err, failure.ErrForbidden) {
		return false, nil
	}
	return err == nil, err
}

// decide says why a token does not allow something.
func (a *Access) decide(r *http.Request, token, verb, path string) error {
	key := accessKey{sha256.Sum256([]byte(token)), verb, path}
	if answer, ok := a.known.Get(key); ok {
		refusal, _ := answer.(error)
		return refusal
	}
	refusal, err := a.ask(r.Context(), token, key)
	if err != nil {
		return failure.New(failure.ErrUnavailable, "The API server does not say whether this is allowed: %s", err)
	}
	a.known.Add(key, refusal, accessKeep-1) // the cache has an answer also in the moment when it ends
	return refusal
}

// ask asks the API server. The refusal is what it said, nil where all is allowed; the error that it
// did not answer.
func (a *Access) ask(ctx context.Context, token string, key accessKey) (refusal, err error) {
	review, err := a.client.AuthenticationV1().TokenReviews().Create(ctx, &authentication.TokenReview{
		Spec: authentication.TokenReviewSpec{Token: token, Audiences: []string{TokenAudience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	if !review.Status.Authenticated || !slices.Contains(review.Status.Audiences, TokenAudience) {
		return failure.New(failure.ErrUnauthorized, "A valid token is needed, for the audience %s", TokenAudience), nil
	}
	user := review.Status.User
	extra := map[string]authorization.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorization.ExtraValue(values)
	}
	access, err := a.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorization.SubjectAccessReview{
		Spec: authorization.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorization.NonResourceAttributes{Path: key.path, Verb: key.verb},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	if !access.Status.Allowed {
		return failure.New(failure.ErrForbidden, "User %s may not %s %s", user.Username, key.verb, key.path), nil
	}
	return nil, nil
}
