package webservice

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// scopeMax is for how many queues it is asked at most whether a client may see them, for one answer.
const scopeMax = 200

// Paths below that of a partition which say which queues a client may see.
const (
	ofQueue        = "/queue/{queue}"
	ofApplications = "/queue/{queue}/applications"
)

// A scope is of a request for a list that its client may not read whole: it is answered with what is of the queues about
// which the client may read the same. It does not widen what may be read.
type scope struct {
	within  string                          // that path, below that of the partition
	sees    func(path string) (bool, error) // whether the client may read a path
	refusal error                           // why it may not read all
}

type scopeKey struct{}

// narrowed is a request for a list that its client may not read whole; nil if all or nothing of it may be read.
func (s *Server) narrowed(of *router, r *http.Request, token string, refusal error) *http.Request {
	within := of.within(r.URL.EscapedPath())
	if within == "" || s.config.Sees == nil || r.Method != http.MethodGet {
		return nil
	}
	sees := func(path string) (bool, error) { return s.config.Sees(r, token, path) }
	return r.WithContext(context.WithValue(r.Context(), scopeKey{}, &scope{within, sees, refusal}))
}

// narrow leaves of the views of a request what its client may see.
func narrow(r *http.Request) (*http.Request, error) {
	of, ok := r.Context().Value(scopeKey{}).(*scope)
	if !ok {
		return r, nil
	}
	views := slices.Clone(viewsOf(r))
	if len(views) == 0 {
		return r, of.refusal
	}
	for i := range views {
		if views[i].view == nil {
			continue // it is answered why
		}
		tops, err := of.visible(views[i].view.Root, r)
		if err != nil {
			return r, err
		}
		if len(tops) == 0 {
			return r, of.refusal
		}
		views[i].within = tops
	}
	return r.WithContext(context.WithValue(r.Context(), viewsKey{}, views)), nil
}

// visible is the queues that the client may see, without those below them. Where the query picks a queue, no others are
// asked about.
func (of *scope) visible(root *api.QueueView, r *http.Request) (tops []api.QueuePath, err error) {
	wanted := api.QueuePath("")
	if of.within == ofApplications { // such a list can be asked for a queue
		wanted = api.QueuePath(strings.ToLower(r.URL.Query().Get("queue")))
	}
	base := "/ws/v1/partition/" + r.PathValue("partition")
	next, asked := []*api.QueueView{root}, 0
	for len(next) > 0 {
		q := next[0]
		next = next[1:]
		if wanted != "" && !wanted.IsWithin(q.Path) && !q.Path.IsWithin(wanted) {
			continue
		}
		if asked++; asked > scopeMax {
			return nil, failure.New(failure.ErrForbidden, "There are too many queues to find those that you may see: ask about one, as with ?queue=")
		}
		sees, err := of.sees(base + strings.Replace(of.within, "{queue}", url.PathEscape(string(q.Path)), 1))
		switch {
		case err != nil:
			return nil, err
		case sees:
			tops = append(tops, q.Path)
		default:
			next = append(next, q.Queues...)
		}
	}
	return tops, nil
}
