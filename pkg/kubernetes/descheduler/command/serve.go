package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// serving is where health, metrics and reports are offered.
type serving struct {
	address       string
	port          int
	probePort     int // of health and metrics alone
	cert, key     string
	http2         bool
	withoutMetric bool
	token         string // the file with the one that clients of reports send
	kubernetes    bool   // the API server says which clients may read reports
}

func (s *serving) define(flags *pflag.FlagSet) {
	flags.StringVar(&s.address, "bind-address", "127.0.0.1", "address of health, metrics and reports")
	flags.IntVar(&s.port, "secure-port", 10258, "port of health, metrics and reports, in plain HTTP without --tls-cert-file; 0 serves nothing")
	flags.IntVar(&s.probePort, "probe-port", 0, "port of health and metrics alone, in plain HTTP, beside --secure-port, so that reports can be closed to others; 0 serves nothing")
	flags.StringVar(&s.cert, "tls-cert-file", "", "file with the certificate for TLS, in PEM")
	flags.StringVar(&s.key, "tls-private-key-file", "", "file with the key of the certificate of --tls-cert-file, in PEM")
	flags.BoolVar(&s.http2, "enable-http2", false, "offer HTTP/2 where there is TLS")
	flags.StringVar(&s.token, "token-file", "", "file with the token, which may be renewed, that clients of reports must send as \"Authorization: Bearer TOKEN\"")
	flags.BoolVar(&s.kubernetes, "kubernetes-auth", false, "have the API server decide by token, of the audience "+replica.TokenAudience+", and by roles which clients read which reports")
	flags.BoolVar(&s.withoutMetric, "disable-metrics", false, "do not offer metrics")
}

// A report is what a cycle did.
type report interface {
	Table(io.Writer) error
	JSON(io.Writer) error
}

// A page is what is served.
type page struct {
	state   *replica.Readiness
	metrics prometheus.Gatherer // nil: none
	// failures are those of the API server.
	failures failures
	// admit says why a token does not allow a request for a report; nil allows all.
	admit func(r *http.Request, token string) error

	mu   sync.Mutex
	last report
	asks answering // nil: nothing does
}

// What is answering knows what happens.
type answering interface {
	// Why says why a pod was evicted or was not.
	Why(namespace, name string) descheduler.Answer
	// Troubles says what keeps it from working.
	Troubles() []string
}

// reported keeps the report of a cycle.
func (p *page) reported(r report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = r
}

// answers says what is asked from now on; nil: nothing.
func (p *page) answers(to answering) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asks = to
}

// asked is what is asked, or nil.
func (p *page) asked() answering {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asks
}

// handler answers all paths.
func (p *page) handler() http.Handler {
	mux := p.probes()
	mux.HandleFunc("GET /report", p.ifAdmitted(p.report))
	mux.HandleFunc("GET /why/{namespace}/{name}", p.ifAdmitted(p.answer))
	return mux
}

// ifAdmitted hands a request on if its client may read what it asks for.
func (p *page) ifAdmitted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p.admit != nil {
			if err := webservice.Admitted(r, p.admit); err != nil {
				http.Error(w, err.Error(), failure.StatusOf(err))
				return
			}
		}
		next(w, r)
	}
}

// admits is what says which requests for reports are allowed.
func (s *serving) admits(client kubernetes.Interface) (func(*http.Request, string) error, error) {
	if s.kubernetes {
		return replica.NewAccess(client).Admit, nil
	}
	return webservice.AdmitTokenIn(s.token)
}

// probes answers what says nothing of pods.
func (p *page) probes() *http.ServeMux {
	mux := http.NewServeMux()
	probes := replica.ProbeHandler(p.state)
	mux.Handle("GET /", probes) // healthz
	mux.Handle("GET /readyz", p.unlessTroubled(probes))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	if p.metrics != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(p.metrics, promhttp.HandlerOpts{}))
	}
	return mux
}

// unlessTroubled hands a request on where nothing keeps this from working, and otherwise says what does.
func (p *page) unlessTroubled(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked := p.asked(); asked != nil {
			if troubles := asked.Troubles(); len(troubles) > 0 {
				if failure := p.failures.line(); failure != "" {
					troubles = append(troubles, failure)
				}
				http.Error(w, strings.Join(troubles, "\n"), http.StatusServiceUnavailable)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// report answers with the last report, as a table or as JSON.
func (p *page) report(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	last := p.last
	p.mu.Unlock()
	if last == nil {
		http.Error(w, "no cycle has ended yet", http.StatusNotFound)
		return
	}
	switch format := r.URL.Query().Get("format"); format {
	case "json":
		w.Header().Set("Content-Type", "application/json")
		_ = last.JSON(w)
	case "", "table":
		_ = last.Table(w)
	default:
		http.Error(w, fmt.Sprintf("format: %q is neither table nor json", format), http.StatusBadRequest)
	}
}

// answer says why a pod was evicted or was not.
func (p *page) answer(w http.ResponseWriter, r *http.Request) {
	asked := p.asked()
	if asked == nil {
		http.Error(w, "this replica does not lead", http.StatusServiceUnavailable)
		return
	}
	writeJSON(w, asked.Why(r.PathValue("namespace"), r.PathValue("name")))
}

// A server offers a page.
type server struct {
	http   []*http.Server
	failed chan error // holds the first error of each that serves
}

// start begins to serve. Port 0 serves nowhere. A certificate that is renewed is logged.
func (s *serving) start(p *page, log *zap.Logger) (*server, error) {
	v := &server{failed: make(chan error, 2)}
	all, err := s.listen(s.port)
	if err != nil {
		return nil, fmt.Errorf("bind-address: %w", err)
	}
	if all != nil && s.cert != "" {
		config, err := s.tls(log)
		if err != nil {
			_ = all.Close()
			return nil, fmt.Errorf("tls-cert-file: %w", err)
		}
		all = tls.NewListener(all, config)
	}
	v.serve(all, p.handler())
	probes, err := s.listen(s.probePort)
	if err != nil {
		v.stop()
		return nil, fmt.Errorf("probe-port: %w", err)
	}
	v.serve(probes, p.probes())
	return v, nil
}

// listen opens a port; nil is none.
func (s *serving) listen(port int) (net.Listener, error) {
	if port == 0 {
		return nil, nil //nolint:nilnil // as documented
	}
	return net.Listen("tcp", net.JoinHostPort(s.address, strconv.Itoa(port)))
}

// serve answers to what comes in, if there is a listener.
func (v *server) serve(listener net.Listener, h http.Handler) {
	if listener == nil {
		return
	}
	one := replica.NewServer(h)
	v.http = append(v.http, one)
	go func() {
		if err := one.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			v.failed <- fmt.Errorf("bind-address: %w", err)
		}
	}()
}

func (s *serving) tls(log *zap.Logger) (*tls.Config, error) {
	certificate, err := webservice.ReadCertificate(s.cert, s.key, func(err error) {
		if err != nil {
			log.Warn("the new certificate is wrong, that before is served", zap.Error(err))
			return
		}
		log.Info("a new certificate is served")
	})
	if err != nil {
		return nil, err
	}
	if s.http2 {
		return certificate.Config("h2", "http/1.1"), nil
	}
	return certificate.Config("http/1.1"), nil
}

func (v *server) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, one := range v.http {
		_ = one.Shutdown(ctx)
	}
}
