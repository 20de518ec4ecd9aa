package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
)

const (
	loopback           = "127.0.0.1"
	services           = "10.0.0.0/16"
	serviceOfAPIServer = "10.0.0.1" // the first of the addresses of services

	bundleFile      = "ca.crt"
	certificateFile = "apiserver.crt"
	keyFile         = "apiserver.key"
	tokenKeyFile    = "service-accounts.key"
	tokenFile       = "tokens.csv"
)

// portAttempts is how often a part is started on another port, because a port that was
// free a moment ago is not any more.
const portAttempts = 3

// Options are what a cluster is started with.
type Options struct {
	Programs  programs.Folder
	Folder    string        // of data, certificates and logs; it exists
	NodeGrace time.Duration // a node silent for longer is not ready; zero is a day, so that nodes need no leases
	APIServer []string      // further arguments of kube-apiserver
	Gates     string        // feature gates of kube-controller-manager, or nothing
	Accounts  bool          // each controller has a service account, as in most clusters, and is not the administrator
}

// A Cluster is a control plane that runs, until Stop.
type Cluster struct {
	Authority *Authority // which also signs for webhooks

	options     Options
	folder      string
	token       string // of the administrator
	url         string // of the API server
	port        int    // of the API server; it keeps it when it is started again
	etcdURL     string
	client      kubernetes.Interface
	apiServer   *Process
	controllers *Process

	mu          sync.Mutex
	environment []string   // of programs that are started, beside that of this one
	processes   []*Process // in the order in which they were started, ended ones too
}

// Start starts etcd, the API server and the controllers, and returns when they have
// started: pods can be created in namespace default.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	authority, err := newAuthority()
	if err != nil {
		return nil, err
	}
	c := &Cluster{Authority: authority, options: options, folder: options.Folder, token: rand.Text()}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.Authority.write(c.folder); err != nil {
		return err
	}
	// The group system:masters may do everything; RBAC is asked for all others.
	administrator := c.token + `,administrator,administrator,"system:masters"` + "\n"
	if err := os.WriteFile(c.file(tokenFile), []byte(administrator), 0o600); err != nil {
		return fmt.Errorf("token of the administrator: %w", err)
	}
	if err := onFreePort(func() error { return c.startEtcd(ctx) }); err != nil {
		return err
	}
	if err := onFreePort(func() error { return c.startAPIServer(ctx, 0) }); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return fmt.Errorf("client of the administrator: %w", err)
	}
	c.client = client
	if err := c.startControllers(); err != nil {
		return err
	}
	return c.AwaitServiceAccount(ctx, "default")
}

// onFreePort starts a part again if another program has taken its port meanwhile.
func onFreePort(start func() error) error {
	var err error
	for range portAttempts {
		if err = start(); err == nil || !strings.Contains(err.Error(), "address already in use") {
			return err
		}
	}
	return err
}

func (c *Cluster) startEtcd(ctx context.Context) error {
	port, err := FreePort()
	if err != nil {
		return err
	}
	peers, err := FreePort()
	if err != nil {
		return err
	}
	c.etcdURL = "http://" + address(port)
	peerURL := "http://" + address(peers)
	p, err := c.Launch(
		programs.Etcd,
		"--data-dir="+c.file("etcd"),
		"--unsafe-no-fsync", // nothing has to outlive this machine
		"--listen-client-urls="+c.etcdURL,
		"--advertise-client-urls="+c.etcdURL,
		"--listen-peer-urls="+peerURL,
		"--initial-advertise-peer-urls="+peerURL,
		"--initial-cluster=default="+peerURL,
	)
	if err != nil {
		return err
	}
	return c.awaitReady(ctx, p, c.etcdURL+"/health")
}

// startAPIServer starts it on a port, or, for zero, on one that is free.
func (c *Cluster) startAPIServer(ctx context.Context, port int) error {
	if port == 0 {
		var err error
		if port, err = FreePort(); err != nil {
			return err
		}
	}
	c.port, c.url = port, "https://"+address(port)
	arguments := []string{
		"--etcd-servers=" + c.etcdURL,
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + c.file(certificateFile),
		"--tls-private-key-file=" + c.file(keyFile),
		"--token-auth-file=" + c.file(tokenFile),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.file(tokenKeyFile),
		"--service-account-signing-key-file=" + c.file(tokenKeyFile),
		"--service-cluster-ip-range=" + services,
		"--endpoint-reconciler-type=none", // the loopback address is no valid endpoint
	}
	p, err := c.Launch(programs.APIServer, append(arguments, c.options.APIServer...)...)
	if err != nil {
		return err
	}
	c.apiServer = p
	return c.awaitReady(ctx, p, c.url+"/readyz")
}

func (c *Cluster) startControllers() error {
	kubeconfig, err := c.Kubeconfig("administrator", c.Config())
	if err != nil {
		return err
	}
	grace := c.options.NodeGrace
	if grace == 0 {
		grace = 24 * time.Hour
	}
	c.controllers, err = c.Launch(
		programs.ControllerManager,
		"--kubeconfig="+kubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
		"--use-service-account-credentials="+strconv.FormatBool(c.options.Accounts),
		"--root-ca-file="+c.file(bundleFile),
		"--service-account-private-key-file="+c.file(tokenKeyFile),
		"--node-monitor-grace-period="+grace.String(),
		"--node-monitor-period=1s",
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
		"--feature-gates="+c.options.Gates,
	)
	return err
}

// Program is the path of one of the programs of a control plane.
func (c *Cluster) Program(name string) (string, error) { return c.options.Programs.Find(name) }

// Launch starts one of the programs of a control plane.
func (c *Cluster) Launch(program string, arguments ...string) (*Process, error) {
	path, err := c.Program(program)
	if err != nil {
		return nil, err
	}
	return c.LaunchPath(program, path, arguments...)
}

// SetEnvironment sets a variable of the environment of programs that are started from now on.
func (c *Cluster) SetEnvironment(name, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.environment = append(c.environment, name+"="+value)
}

// LaunchPath starts any program. It ends with the cluster at the latest.
func (c *Cluster) LaunchPath(name, path string, arguments ...string) (*Process, error) {
	command := exec.Command(path, arguments...)
	c.mu.Lock()
	command.Env = append(command.Environ(), c.environment...)
	c.mu.Unlock()
	p, err := launch(c.folder, name, command)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes = append(c.processes, p)
	return p, nil
}

// RestartAPIServer kills the API server and starts it again at the same address. All
// connections break; what was stored is there.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	c.apiServer.Kill()
	return c.startAPIServer(ctx, c.port)
}

// UpgradeAPIServer starts the API server of other programs in place of the one that runs, with other arguments. Controllers stay as they are.
func (c *Cluster) UpgradeAPIServer(ctx context.Context, to programs.Folder, arguments []string) error {
	c.options.Programs, c.options.APIServer = to, arguments
	return c.RestartAPIServer(ctx)
}

// Process is the process of that name which was started last.
func (c *Cluster) Process(name string) (*Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range slices.Backward(c.processes) {
		if p.Name() == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no process %s was started", name)
}

// Stop kills what still runs, clients of the API server first.
func (c *Cluster) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range slices.Backward(c.processes) {
		p.Kill()
	}
}

// Logs are the ends of the logs of all processes, of at most that many lines each.
func (c *Cluster) Logs(lines int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var text strings.Builder
	seen := make(map[string]bool)
	for _, p := range c.processes {
		if !seen[p.log] {
			seen[p.log] = true
			fmt.Fprintf(&text, "== %s, the end of %s\n%s\n", p.Name(), p.log, p.Log(lines))
		}
	}
	return text.String()
}

// Folder is where data, certificates and logs are.
func (c *Cluster) Folder() string { return c.folder }

func (c *Cluster) file(name string) string { return filepath.Join(c.folder, name) }

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
