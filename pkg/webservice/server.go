package webservice

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// DefaultAddress is where a server listens if nothing else is asked for: this
// machine only.
const DefaultAddress = "127.0.0.1:" + client.DefaultPort

const (
	readHeaderMax = 10 * time.Second // to send the head of a request
	idleMax       = 2 * time.Minute  // between requests of one connection
	stopMax       = 5 * time.Second  // for requests under way when the server stops
)

// ServerConfig says where a service is offered, and to which clients.
type ServerConfig struct {
	// Address is host and port; empty is DefaultAddress. Without a host all
	// addresses of the machine are meant.
	Address string
	// DebugAddress is the same for profiles, stacks and the state dump. Empty
	// offers them nowhere, that of Address at the same place.
	DebugAddress string
	// ProbeAddress is another address, where health and metrics can be read without a
	// token. Empty offers them at Address only.
	ProbeAddress string
	// CertFile and KeyFile, in PEM, are for TLS on all addresses. Both or neither
	// are given. What is renewed there is served for new connections, see ReadCertificate.
	CertFile, KeyFile string
	// Token is what a client must send as "Authorization: Bearer TOKEN". Empty
	// lets all clients in.
	Token string
	// Admit, where it is not nil, decides instead: nil lets in a request with a token, and
	// failure.ErrUnauthorized and failure.ErrForbidden say why not. Any other error is that
	// it cannot be told. It is called from many goroutines.
	Admit func(r *http.Request, token string) error
	// Sees says, where it is not nil, whether the client of a request with a token may get another path. A list that Admit
	// forbids is answered then with what is of the queues about which the client may read as much.
	Sees func(r *http.Request, token, path string) (bool, error)
	// AllowedOrigins are those of pages that may read the answers besides those of the
	// scheduler itself, such as "https://example.com"; "*" is all.
	AllowedOrigins []string
	// AllowedHosts are names, without a port, by which clients may call the scheduler
	// where no token is needed, besides addresses and localhost; "*" is all.
	AllowedHosts []string
	// Log takes what the server has to say about broken connections, and where other
	// machines can read everything; nil is silent.
	Log *log.Logger
}

// Validate reports every problem of the configuration at once.
func (c ServerConfig) Validate() error {
	var problems []error
	listenable := func(name, address string) {
		if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
			problems = append(problems, fmt.Errorf("server config: %s: %w", name, err))
		}
	}
	listenable("Address", c.Address)
	listenable("DebugAddress", c.DebugAddress)
	listenable("ProbeAddress", c.ProbeAddress)
	if c.ProbeAddress != "" && (c.ProbeAddress == c.Address || c.ProbeAddress == c.DebugAddress) {
		problems = append(problems, fmt.Errorf("server config: ProbeAddress %s is another one already", c.ProbeAddress))
	}
	each := func(name string, texts []string, valid func(string) error) {
		for _, text := range texts {
			if err := valid(text); err != nil {
				problems = append(problems, fmt.Errorf("server config: %s: %q is %w", name, text, err))
			}
		}
	}
	each("AllowedOrigins", c.AllowedOrigins, validOrigin)
	each("AllowedHosts", c.AllowedHosts, validHost)
	if (c.CertFile == "") != (c.KeyFile == "") {
		problems = append(problems, errors.New("server config: CertFile and KeyFile must be given together"))
	}
	if c.Token != "" && c.Admit != nil {
		problems = append(problems, errors.New("server config: Token and Admit cannot be given together"))
	}
	if strings.ContainsAny(c.Token, " \t\r\n") {
		problems = append(problems, errors.New("server config: Token has white space"))
	}
	return errors.Join(problems...)
}

// A Server offers a service on one or two addresses, from Start to Stop.
type Server struct {
	config    ServerConfig
	service   *Service
	listeners []net.Listener
	servers   []*http.Server
	running   sync.WaitGroup
	failed    chan error // holds the first error of serving
}

// NewServer makes a server that listens nowhere yet. The error is that of
// ServerConfig.Validate.
func NewServer(config ServerConfig, service *Service) (*Server, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Address == "" {
		config.Address = DefaultAddress
	}
	return &Server{config: config, service: service, failed: make(chan error, 1)}, nil
}

// Start listens and begins to serve. It returns when clients can connect, or with
// an error, when nothing listens. After an error it may be called again; a server that
// was started is not started again, also when it has stopped.
func (s *Server) Start() error {
	if s.servers != nil {
		return errStarted
	}
	config, err := s.tls()
	if err != nil {
		return err
	}
	offers := s.offers()
	listeners, err := listen(offers)
	if err != nil {
		return fmt.Errorf("webservice: %w", err)
	}
	s.listeners = listeners
	for _, warning := range s.warnings() {
		s.logger().Print("webservice: " + warning)
	}
	for i, listener := range listeners {
		server := s.server(offers[i])
		s.servers = append(s.servers, server)
		if config != nil {
			listener = tls.NewListener(listener, config)
		}
		s.running.Go(func() { s.serve(server, listener) })
	}
	return nil
}

// errStarted is returned by a second Start.
var errStarted = errors.New("webservice: the server was started already; another one is needed")

// listen listens at the addresses of all offers, or at none.
func listen(offers []offer) (listeners []net.Listener, err error) {
	for _, o := range offers {
		listener, err := net.Listen("tcp", o.address)
		if err != nil {
			for _, open := range listeners {
				_ = open.Close()
			}
			return nil, err
		}
		listeners = append(listeners, listener)
	}
	return listeners, nil
}

// An offer is what is served at an address.
type offer struct {
	address string
	handler *router
	open    bool // without a token
}

// offers is what is served at each address, beginning with Address.
func (s *Server) offers() []offer {
	out := []offer{{address: s.config.Address, handler: s.service.rest}}
	switch s.config.DebugAddress {
	case "":
	case s.config.Address:
		out[0].handler = s.service.both()
	default:
		out = append(out, offer{address: s.config.DebugAddress, handler: s.service.debug})
	}
	if s.config.ProbeAddress != "" {
		out = append(out, offer{address: s.config.ProbeAddress, handler: s.service.probes(), open: true})
	}
	return out
}

func (s *Server) tls() (*tls.Config, error) {
	if s.config.CertFile == "" {
		return nil, nil
	}
	certificate, err := ReadCertificate(s.config.CertFile, s.config.KeyFile, func(err error) {
		if err != nil {
			s.logger().Print("webservice: the new certificate is wrong, that before is served: " + err.Error())
			return
		}
		s.logger().Print("webservice: a new certificate is served")
	})
	if err != nil {
		return nil, fmt.Errorf("webservice: certificate: %w", err)
	}
	return certificate.Config("http/1.1"), nil
}

func (s *Server) server(o offer) *http.Server {
	return &http.Server{
		Handler:           s.guarded(o),
		ReadHeaderTimeout: readHeaderMax,
		IdleTimeout:       idleMax,
		ErrorLog:          s.logger(),
	}
}

func (s *Server) logger() *log.Logger {
	if s.config.Log != nil {
		return s.config.Log
	}
	return log.New(silence{}, "", 0)
}

// silence drops what is logged.
type silence struct{}

func (silence) Write(p []byte) (int, error) { return len(p), nil }

func (s *Server) serve(server *http.Server, listener net.Listener) {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		select {
		case s.failed <- fmt.Errorf("webservice: %w", err):
		default:
		}
	}
}

// Failed gives an error if the server ceases to serve although it was not stopped.
func (s *Server) Failed() <-chan error { return s.failed }

// Addresses are those that are listened on, with the port that a port of zero
// became: that of the service, that for debugging if it has its own, and that for
// probes if there is one.
func (s *Server) Addresses() []string {
	var out []string
	for _, listener := range s.listeners {
		out = append(out, listener.Addr().String())
	}
	return out
}

// Stop ends the server. Requests under way have five seconds, or less if the
// context ends before; then their connections are cut, and the error says so.
func (s *Server) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopMax)
	defer cancel()
	errs := make([]error, len(s.servers))
	var stopping sync.WaitGroup
	for i, server := range s.servers {
		stopping.Go(func() {
			if errs[i] = server.Shutdown(ctx); errs[i] != nil {
				_ = server.Close()
			}
		})
	}
	stopping.Wait()
	s.running.Wait()
	return errors.Join(errs...)
}

// probes offers what tells whether the scheduler lives and how it fares.
func (s *Service) probes() *router {
	return newRouter(slices.DeleteFunc(s.routes(), func(t route) bool { return !t.probe }), s.admit)
}

// Handler is what the server offers at Address, for servers of other kinds.
func (s *Server) Handler() http.Handler { return s.guarded(s.offers()[0]) }
