package webservice

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/cors"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// anything stands for all origins, or all names.
const anything = "*"

// guarded is a handler that the requests reach which may: those for a name of this
// scheduler, of pages of its own origin or of one that is allowed, and with the token.
func (s *Server) guarded(o offer) http.Handler {
	var next http.Handler = o.handler
	if s.needsToken() && !o.open {
		next = s.tokened(o.handler)
	}
	next = s.ownOrigin(next)
	if len(s.config.AllowedOrigins) > 0 {
		next = crossing(s.config.AllowedOrigins).Handler(next)
	}
	// A page whose name leads to this address is no page of this scheduler. With a
	// token it can read nothing: it has none.
	if !s.needsToken() || o.open {
		next = s.named(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limitBody(w, r)
		next.ServeHTTP(w, r)
	})
}

// tokened lets in clients that have the token. OPTIONS is answered to all, and so is
// the page that asks people for theirs: it has no data, and no path of it is one of
// REST.
func (s *Server) tokened(next *router) http.Handler {
	admit := s.config.Admit
	if admit == nil {
		admit = only(s.config.Token)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			next.ServeHTTP(w, r)
			return
		}
		if _, ok := next.right(r.URL.EscapedPath()); !ok && next.page != nil {
			next.page.ServeHTTP(w, r)
			return
		}
		err := Admitted(r, admit)
		if errors.Is(err, failure.ErrForbidden) {
			if part := s.narrowed(next, r, bearer(r), err); part != nil {
				r, err = part, nil
			}
		}
		if errors.Is(err, failure.ErrUnauthorized) {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		if err != nil {
			s.service.refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) needsToken() bool { return s.config.Token != "" || s.config.Admit != nil }

// Admitted says why a request is not allowed: it brings no token, or admit does not allow what it asks for.
func Admitted(r *http.Request, admit func(r *http.Request, token string) error) error {
	if token := bearer(r); token != "" {
		return admit(r, token)
	}
	return failure.New(failure.ErrUnauthorized, "A valid token is needed")
}

// only admits one token.
func only(token string) func(*http.Request, string) error {
	wanted := sha256.Sum256([]byte(token))
	return func(_ *http.Request, token string) error {
		given := sha256.Sum256([]byte(token)) // of equal length, whatever was sent
		if subtle.ConstantTimeCompare(given[:], wanted[:]) != 1 {
			return failure.New(failure.ErrUnauthorized, "A valid token is needed")
		}
		return nil
	}
}

// bearer is the token of a request; empty is none. A proxy such as the API server of Kubernetes keeps
// Authorization for itself, so the other header counts before it.
func bearer(r *http.Request) string {
	for _, header := range []string{client.TokenHeader, "Authorization"} {
		scheme, token, _ := strings.Cut(r.Header.Get(header), " ")
		if strings.EqualFold(scheme, "Bearer") {
			return strings.TrimSpace(token)
		}
	}
	return ""
}

// ownOrigin refuses what a page of another origin sends, unless that is allowed. What
// it asks to read is answered, and its browser keeps the answer from it.
func (s *Server) ownOrigin(next http.Handler) http.Handler {
	if slices.Contains(s.config.AllowedOrigins, anything) {
		return next
	}
	protection := http.NewCrossOriginProtection()
	for _, origin := range s.config.AllowedOrigins {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			panic("webservice: " + err.Error()) // ServerConfig.Validate has found it
		}
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.service.refuse(w, r, failure.New(failure.ErrForbidden, "Pages of another origin may not send this"))
	}))
	return protection.Handler(next)
}

// crossing lets pages of some origins read the answers.
func crossing(origins []string) *cors.Cors {
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders: []string{"Accept", "Authorization", "Content-Type", "If-None-Match", "X-Requested-With"},
		ExposedHeaders: []string{"Age", "ETag", "Link", "Retry-After", "X-Counts", "X-Total-Count"},
	})
}

// named refuses requests for a name that is none of this scheduler. A browser sends
// them for a page of another site whose name was made to lead here, and takes the
// answers for those of that site. No such name is an address or that of the machine
// itself, so these need not be configured.
func (s *Server) named(next http.Handler) http.Handler {
	names := slices.Clone(s.config.AllowedHosts)
	for _, address := range []string{s.config.Address, s.config.DebugAddress, s.config.ProbeAddress} {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
			names = append(names, host)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := hostOf(r.Host); !isOwnHost(host, names) {
			s.service.refuse(w, r, failure.New(failure.ErrMisdirected, "This scheduler is not known as %.100q", host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostOf is the name in a header Host, without the port.
func hostOf(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.Trim(header, "[]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// isOwnHost reports whether a name is an address, that of the machine itself, or one of
// those that are configured. Clients of HTTP/1.0 send none, and are no browsers.
func isOwnHost(host string, names []string) bool {
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool { return name == anything || hostOf(name) == host })
}

// validOrigin reports what is wrong with an origin.
func validOrigin(text string) error {
	if text == anything {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || text != u.Scheme+"://"+u.Host {
		return errors.New("no origin such as https://example.com")
	}
	return nil
}

// validHost reports what is wrong with a name.
func validHost(text string) error {
	if text == "" || strings.ContainsAny(text, "/: \t") {
		return errors.New("no name of a host, without a port")
	}
	return nil
}

// warnings is what should be known of the addresses that are listened on.
func (s *Server) warnings() (out []string) {
	if s.needsToken() {
		return nil
	}
	for i, o := range s.offers() {
		address, ok := s.listeners[i].Addr().(*net.TCPAddr)
		if !o.open && (!ok || !address.IP.IsLoopback()) {
			out = append(out, fmt.Sprintf("%s can be reached from other machines, and no token is needed to read everything there", s.listeners[i].Addr()))
		}
	}
	return out
}
