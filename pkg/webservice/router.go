package webservice

import (
	"net/http"
	"path"
	"strings"
)

// A route is a path and what answers it, by method. A path that ends in a slash
// stands for all below it.
type route struct {
	path      string
	get, post http.Handler // nil where the method is not allowed
	probe     bool         // it may be read without a token, at an address of its own
	// within is a path below that of the partition. A client that may read it for some queues, and not all of this one,
	// gets of this one what is of those queues. Empty is all or nothing.
	within string
}

// allow is the methods that a path knows, as the header of that name says it.
func (t route) allow() string {
	var methods []string
	if t.get != nil {
		methods = append(methods, http.MethodGet, http.MethodHead)
	}
	methods = append(methods, http.MethodOptions)
	if t.post != nil {
		methods = append(methods, http.MethodPost)
	}
	return strings.Join(methods, ", ")
}

// ServeHTTP answers a request for the path by its method.
func (t route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case t.get != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		t.get.ServeHTTP(w, r)
	case t.post != nil && r.Method == http.MethodPost:
		t.post.ServeHTTP(w, r)
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", t.allow())
	default:
		w.Header().Set("Allow", t.allow())
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
	}
}

// A router finds the route of a request. A path that is nearly right is answered
// with where the right one is.
type router struct {
	mux   *http.ServeMux
	paths []string
	parts map[string]string // within of routes, by path
	page  http.Handler      // answers all other paths; nil is 404
}

// newRouter makes a router. What answers a path is called through admit.
func newRouter(routes []route, admit func(http.Handler) http.Handler) *router {
	out := &router{mux: http.NewServeMux(), parts: map[string]string{}}
	for _, t := range routes {
		out.mux.Handle(t.path, admit(t))
		out.paths = append(out.paths, t.path)
		out.parts[t.path] = t.within
	}
	return out
}

func (t *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	limitBody(w, r)
	asked := r.URL.EscapedPath()
	if right, ok := t.right(asked); !ok {
		t.other(w, r)
	} else if right != asked {
		redirect(w, r, right)
	} else {
		t.mux.ServeHTTP(w, r)
	}
}

// other answers what is no path of the routes.
func (t *router) other(w http.ResponseWriter, r *http.Request) {
	if t.page == nil {
		http.NotFound(w, r)
		return
	}
	t.page.ServeHTTP(w, r)
}

// right is the path that a client may have meant: without needless slashes and
// dots, and in the right case. It says false if there is no such path.
func (t *router) right(asked string) (string, bool) {
	cleaned := path.Clean("/" + asked)
	for _, pattern := range t.paths {
		below := strings.HasSuffix(pattern, "/")
		if below && strings.HasSuffix(asked, "/") && !strings.HasSuffix(cleaned, "/") {
			cleaned += "/"
		} else if !below {
			cleaned = strings.TrimSuffix(cleaned, "/")
		}
		if right, ok := fit(pattern, cleaned); ok {
			return right, true
		}
	}
	return "", false
}

// within is that of the route of a path; empty if the path is not right.
func (t *router) within(asked string) string {
	for _, pattern := range t.paths {
		if right, ok := fit(pattern, asked); ok && right == asked {
			return t.parts[pattern]
		}
	}
	return ""
}

// fit is the path in the case of the pattern, if it fits at all.
func fit(pattern, asked string) (string, bool) {
	wanted, given := strings.Split(pattern, "/"), strings.Split(asked, "/")
	below := wanted[len(wanted)-1] == ""
	if below && len(given) == len(wanted)-1 {
		given = append(given, "")
	}
	if len(given) != len(wanted) && !(below && len(given) > len(wanted)) {
		return "", false
	}
	for i, segment := range wanted {
		switch {
		case below && i == len(wanted)-1: // whatever is below
		case strings.HasPrefix(segment, "{"):
			// An escaped slash alone is taken by net/http for the end of the path.
			if given[i] == "" || strings.EqualFold(given[i], "%2F") {
				return "", false
			}
		case strings.EqualFold(segment, given[i]):
			given[i] = segment
		default:
			return "", false
		}
	}
	return strings.Join(given, "/"), true
}

// moved answers with another place, for good.
func moved(to string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { redirect(w, r, to) })
}

func redirect(w http.ResponseWriter, r *http.Request, to string) {
	if r.URL.RawQuery != "" {
		to += "?" + strings.ReplaceAll(r.URL.RawQuery, "#", "%23") // which a client would cut off
	}
	http.Redirect(w, r, to, http.StatusMovedPermanently)
}
