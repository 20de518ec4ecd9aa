package webservice

import (
	"net/http"
	"net/http/pprof"
	"runtime"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// debugRoutes is every path below /debug.
func (s *Service) debugRoutes() []route {
	return []route{
		{path: "/debug/stack", get: s.answer(stacks)},
		{path: "/debug/fullstatedump", get: s.offerDump()},
		{path: "/debug/pprof/cmdline", get: http.HandlerFunc(pprof.Cmdline)},
		{path: "/debug/pprof/profile", get: http.HandlerFunc(pprof.Profile)},
		{path: "/debug/pprof/symbol", get: http.HandlerFunc(pprof.Symbol), post: http.HandlerFunc(pprof.Symbol)},
		{path: "/debug/pprof/trace", get: http.HandlerFunc(pprof.Trace)},
		{path: "/debug/pprof/", get: http.HandlerFunc(pprof.Index)},
	}
}

// movedHere are the paths below /ws/v1 of what is below /debug now.
var movedHere = map[string]string{"/ws/v1/stack": "/debug/stack", "/ws/v1/fullstatedump": "/debug/fullstatedump"}

// notHere answers them where nothing is below /debug.
func notHere(*http.Request) (any, error) {
	return nil, failure.New(failure.ErrMissing, "Debugging is not offered at this address")
}

// both offers everything at one address.
func (s *Service) both() *router {
	routes := s.routes()
	for i := range routes {
		if to, ok := movedHere[routes[i].path]; ok {
			routes[i].get = moved(to)
		}
	}
	out := newRouter(append(routes, s.debugRoutes()...), s.admit)
	out.page = s.config.Dashboard
	return out
}

// stacks answers GET /debug/stack with the stacks of all goroutines.
func stacks(*http.Request) (any, error) {
	for size := 1 << 20; ; size *= 2 {
		buffer := make([]byte, size)
		if n := runtime.Stack(buffer, true); n < size || size >= stacksMax {
			return &text{typeText, buffer[:n]}, nil
		}
	}
}

// stacksMax is the most bytes of stacks that are answered.
const stacksMax = 64 << 20

// offerDump answers with the dump. It is large, so only one is made at a time.
func (s *Service) offerDump() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.reply(w, s.withViews(r, s.config.Views.Partitions()...), s.dump, s.dumps)
	})
}

// dump answers GET /debug/fullstatedump.
func (s *Service) dump(r *http.Request) (any, error) {
	all, err := s.all(r)
	if err != nil {
		return nil, err
	}
	return &pretty{s.config.sources().Dump(all)}, nil
}
