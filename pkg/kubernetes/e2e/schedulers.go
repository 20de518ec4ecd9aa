package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/cluster"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
)

// A Scheduler is one that scenarios can run with.
type Scheduler interface {
	// Name is what pods ask for it by, in spec.schedulerName.
	Name() string
	// Missing says why it cannot be started here; it is empty if it can.
	Missing() string
	// Start starts it. It may be started again when an instance has ended.
	Start(ctx context.Context, c *cluster.Cluster) (Instance, error)
}

// An Instance is a scheduler that runs.
type Instance interface {
	// Kill ends it at once, as a crash does.
	Kill()
	// REST is the address of its web service, such as http://127.0.0.1:9080, or nothing.
	REST() string
}

// A pausable instance can be stopped for a while, with all it holds.
type pausable interface {
	Pause()
	Continue()
}

// A program is a scheduler that is a program of its own.
type program struct {
	name    string
	missing func() string
	start   func(c *cluster.Cluster) (*cluster.Process, string, error) // with the address of its web service
}

func (p program) Name() string    { return p.name }
func (p program) Missing() string { return p.missing() }

func (p program) Start(_ context.Context, c *cluster.Cluster) (Instance, error) {
	process, rest, err := p.start(c)
	if err != nil {
		return nil, fmt.Errorf("scheduler %s: %w", p.name, err)
	}
	return running{process, rest}, nil
}

type running struct {
	*cluster.Process
	rest string
}

func (r running) REST() string { return r.rest }

// requestsPerSecond is the limit of both schedulers, so that measurements compare them and
// not their defaults.
const requestsPerSecond = "5000"

// kubeSchedulerConfig does not elect a leader, so that it starts at once after a crash.
const kubeSchedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %s
  qps: ` + requestsPerSecond + `
  burst: ` + requestsPerSecond + `
leaderElection:
  leaderElect: false
profiles:
- schedulerName: %s
`

// packs is what follows in a profile that prefers full nodes.
const packs = `  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}}
`

// KubeScheduler is kube-scheduler, for pods that ask for it by a name.
func KubeScheduler(name string) Scheduler { return kubeScheduler(name, kubeSchedulerConfig) }

// PackingKubeScheduler is kube-scheduler that prefers full nodes.
func PackingKubeScheduler(name string) Scheduler {
	return kubeScheduler(name, kubeSchedulerConfig+packs)
}

func kubeScheduler(name, profile string) Scheduler {
	return program{
		name:    name,
		missing: func() string { return "" },
		start: func(c *cluster.Cluster) (*cluster.Process, string, error) {
			kubeconfig, err := c.Kubeconfig(name, c.Config())
			if err != nil {
				return nil, "", err
			}
			config := filepath.Join(c.Folder(), name+".yaml")
			if err := os.WriteFile(config, fmt.Appendf(nil, profile, kubeconfig, name), 0o600); err != nil {
				return nil, "", err
			}
			path, err := c.Program(programs.Scheduler)
			if err != nil {
				return nil, "", err
			}
			process, err := c.LaunchPath(name, path, "--config="+config, "--secure-port=0")
			return process, "", err
		},
	}
}

// The folders of the programs, in the Kubernetes module. That of the example is narwhal-scheduler with a plugin compiled in.
var (
	narwhalCommand = filepath.Join("cmd", "narwhal-scheduler")
	pluginCommand  = filepath.Join("cmd", "kubectl-narwhal")
	exampleCommand = filepath.Join("outoftree", "example")
)

// narwhalConfig has the rules of the manifests, lets pods name queues, and makes the 30 seconds that a daemonset waits
// for room by itself one. Gangs in the queue root.whole start whole, each user has one CPU in
// root.limited, and root.small has a tenth of one.
const narwhalConfig = `partitions:
- name: default
  preemption:
    preemption_start_delay: 1s
  placementrules:
  - name: provided
  - name: tag
    value: namespace
    create: true
  queues:
  - name: root
    queues:
    - name: whole
      properties:
        gang.start: whole
    - name: limited
      limits:
      - users: ["*"]
        maxresources: {vcore: 1}
    - name: small
      resources:
        max: {vcore: 100m}
`

// manifests are those that install narwhal-scheduler: its account with the roles it has.
var manifests = filepath.Join("..", "..", "..", "docs", "deploy", "kustomize")

// narwhalNamespace, narwhalAccount and configMapName are in the manifests.
const (
	narwhalNamespace = "narwhal"
	narwhalAccount   = "narwhal-scheduler"
	configMapName    = "narwhal-config"
)

// install creates the account of narwhal-scheduler as the manifests have it, and the
// ConfigMap that it reads, unless they are there. It returns the kubeconfig of the account.
func install(c *cluster.Cluster) (string, error) {
	if err := apply(c, filepath.Join(manifests, "namespace.yaml"), filepath.Join(manifests, "account.yaml"), filepath.Join(manifests, "placeholders.yaml")); err != nil {
		return "", err
	}
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: configMapName},
		Data:       map[string]string{"queues.yaml": narwhalConfig},
	}
	ctx := context.Background()
	_, err := c.Client().CoreV1().ConfigMaps(narwhalNamespace).Create(ctx, configMap, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", err
	}
	config, err := c.ConfigOf(ctx, narwhalNamespace, narwhalAccount)
	if err != nil {
		return "", err
	}
	return c.Kubeconfig(narwhalAccount, config)
}

// apply has kubectl apply files, as their users do.
func apply(c *cluster.Cluster, files ...string) error {
	var arguments []string
	for _, file := range files {
		arguments = append(arguments, "--filename", file)
	}
	return kubectlApply(c, arguments...)
}

// kubectlApply is kubectl apply with arguments.
func kubectlApply(c *cluster.Cluster, arguments ...string) error {
	return kubectl(c, append([]string{"apply"}, arguments...)...)
}

// narwhalName is what pods ask for it by, and what its process is called. Pods may ask by
// yunikornName as well, as workloads do that were made for YuniKorn.
const (
	narwhalName  = "narwhal"
	yunikornName = "yunikorn"
)

// Narwhal is the program narwhal-scheduler, built from the sources around. It may do what
// the roles of its manifests allow and nothing else. It is started with the flags --kubeconfig, --namespace (of its ConfigMap), --scheduler-name, --listen
// (the web service), --leader-elect=false, and the limits of requests.
func Narwhal() Scheduler {
	return program{
		name: narwhalName,
		missing: func() string {
			if _, err := os.Stat(filepath.Join("..", narwhalCommand, "main.go")); err != nil {
				return "there is no pkg/kubernetes/" + filepath.ToSlash(narwhalCommand) + " yet"
			}
			return ""
		},
		start: func(c *cluster.Cluster) (*cluster.Process, string, error) {
			return startNarwhal(c, narwhalName, "--leader-elect=false")
		},
	}
}

// NarwhalWithPlugin is the program of the example with its profile: a plugin of the scheduling framework is compiled in.
func NarwhalWithPlugin() Scheduler {
	return program{
		name:    narwhalName,
		missing: Narwhal().Missing,
		start: func(c *cluster.Cluster) (*cluster.Process, string, error) {
			path, err := exampleProgram()
			if err != nil {
				return nil, "", err
			}
			return startProgram(c, path, narwhalName, "--leader-elect=false", "--scheduler-config="+filepath.Join("..", exampleCommand, "profile.yaml"))
		},
	}
}

// startNarwhal starts the program with further flags.
func startNarwhal(c *cluster.Cluster, name string, flags ...string) (*cluster.Process, string, error) {
	path, err := narwhalProgram()
	if err != nil {
		return nil, "", err
	}
	return startProgram(c, path, name, flags...)
}

func startProgram(c *cluster.Cluster, path, name string, flags ...string) (*cluster.Process, string, error) {
	kubeconfig, err := install(c)
	if err != nil {
		return nil, "", err
	}
	port, err := cluster.FreePort()
	if err != nil {
		return nil, "", err
	}
	listen := fmt.Sprintf("127.0.0.1:%d", port)
	if _, err := os.Stat(recordings(c)); err == nil {
		flags = append(flags, "--record="+recordings(c))
	}
	process, err := c.LaunchPath(name, path, append(flags, "--kubeconfig="+kubeconfig, "--namespace="+narwhalNamespace,
		"--scheduler-name="+name+","+yunikornName, "--listen="+listen,
		"--kube-api-qps="+requestsPerSecond, "--kube-api-burst="+requestsPerSecond)...)
	return process, "http://" + listen, err
}

// narwhalFolder is where the programs of this module are built, once it is made. TestMain removes it.
var (
	narwhalFolder string
	makeFolder    = sync.OnceValue(func() (err error) {
		narwhalFolder, err = os.MkdirTemp("", "narwhal-scheduler")
		return err
	})
)

// Each program is built once in the life of the tests.
var (
	exampleProgram = sync.OnceValues(func() (string, error) { return buildCommand(exampleCommand) })
	narwhalProgram = sync.OnceValues(func() (string, error) { return buildCommand(narwhalCommand) })
	pluginProgram  = sync.OnceValues(func() (string, error) { return buildCommand(pluginCommand) })
)

func buildCommand(command string) (string, error) {
	if err := makeFolder(); err != nil {
		return "", err
	}
	path := filepath.Join(narwhalFolder, filepath.Base(command))
	// No debugger reads it, and a third of the work is to write the tables for one.
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "./"+filepath.ToSlash(command))
	build.Dir = ".."
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", filepath.Base(command), err, output)
	}
	return path, nil
}

// A Run schedules until its context ends, and returns why it has ended before. Its web
// service, if it has one, listens on an address of this machine.
type Run func(ctx context.Context, config *rest.Config, listen string) error

// InProcess is a scheduler that is a function of this process, so that a debugger and the
// race detector see it.
func InProcess(name string, run Run) Scheduler { return function{name, run} }

type function struct {
	name string
	run  Run
}

func (f function) Name() string    { return f.name }
func (f function) Missing() string { return "" }

func (f function) Start(ctx context.Context, c *cluster.Cluster) (Instance, error) {
	port, err := cluster.FreePort()
	if err != nil {
		return nil, err
	}
	listen := fmt.Sprintf("127.0.0.1:%d", port)
	ctx, cancel := context.WithCancel(ctx)
	call := &call{cancel: cancel, ended: make(chan struct{}), rest: "http://" + listen}
	go func() {
		defer close(call.ended)
		if err := f.run(ctx, c.Config(), listen); err != nil && !errors.Is(err, context.Canceled) {
			panic(fmt.Sprintf("scheduler %s has ended: %v", f.name, err))
		}
	}()
	return call, nil
}

// A call is an instance in this process.
type call struct {
	cancel context.CancelFunc
	ended  chan struct{}
	rest   string
}

func (c *call) Kill() {
	c.cancel()
	<-c.ended
}

func (c *call) REST() string { return c.rest }
