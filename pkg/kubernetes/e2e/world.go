package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/cluster"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/kubelet"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// gracePercent makes the grace period of 30 seconds, which pods have by default, 0.6.
const gracePercent = 2

// leaseEvery and the grace of nodes are short where nodes may become silent, so that the
// scenario is. One lease in six is enough.
const (
	leaseEvery = time.Second
	nodeGrace  = 6 * time.Second
)

// Options say in which world a scenario is played.
type Options struct {
	NodesCanFail bool // nodes renew leases, and one that is silent is tainted after 6 seconds
	Restarts     bool // Middle kills the scheduler and starts it again
	MayBeRefused bool // a kubelet may have no room for a pod, as with two schedulers
	PodGroups    bool // the API server serves PodGroups, which are off by default, and jobs make their own
	Former       bool // the control plane is of 1.36, until UpgradeAPIServer
	Audit        bool // the API server records the requests of the descheduler
	Shipped      bool // narwhal-scheduler has the queues and flags of the manifests
	Accounts     bool // controllers have service accounts, and are not the administrator
	Plugin       bool // narwhal-scheduler has the plugin of the example compiled in
	Recorded     bool // narwhal-scheduler records
}

// formerRelease is that before the newest one.
const formerRelease = "1.36"

// podGroups is the resource of PodGroups in the release that is played on.
func podGroups() schema.GroupVersionResource { return podGroupsOf(programs.Release()) }

// podGroupsOf is the same in a release.
func podGroupsOf(release string) schema.GroupVersionResource {
	version := "v1alpha2"
	if release == "1.37" {
		version = "v1beta1"
	}
	return schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: version, Resource: "podgroups"}
}

// podGroupGates are the feature gates for all that a release knows of groups.
func podGroupGates(release string) string {
	if release == "1.37" {
		return "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true,PodGroupPreemptionPolicy=true,WorkloadWithJob=true,DRAWorkloadResourceClaims=true"
	}
	return "GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true,TopologyAwareWorkloadScheduling=true,WorkloadWithJob=true,DRAWorkloadResourceClaims=true"
}

// servePodGroups are the arguments of an API server that serves groups.
func servePodGroups(release string) []string {
	served := podGroupsOf(release).GroupVersion().String() + "=true"
	if release == "1.37" {
		served += "," + pods.CompositePodGroupResource.GroupVersion().String() + "=true"
	}
	return []string{"--feature-gates=" + podGroupGates(release), "--runtime-config=" + served}
}

// A World is a control plane with kubelets and one scheduler, for one scenario. Its methods end the
// test when something fails.
type World struct {
	t         testing.TB
	ctx       context.Context
	options   Options
	cluster   *cluster.Cluster
	client    kubernetes.Interface
	kubelets  *kubelet.Kubelets
	observer  *observer
	scheduler Scheduler
	instance  Instance
	token     string // with which its web service is read, or nothing
	nodes     int    // added so far
	middles   int    // met so far
}

// NewWorld starts everything. It ends with the test, which then shows the history of the
// pods and the logs if it has failed.
func NewWorld(t testing.TB, scheduler Scheduler, options Options) *World {
	t.Helper()
	release := programs.Release()
	if options.Former {
		release = formerRelease
	}
	folder, err := programs.Here(".", release)
	check(t, err)
	if options.Shipped && scheduler.Name() == narwhalName {
		scheduler = NarwhalAsShipped()
	}
	if options.Plugin && scheduler.Name() == narwhalName {
		scheduler = NarwhalWithPlugin()
	}
	w := &World{t: t, options: options, scheduler: scheduler}
	ctx, cancel := context.WithCancel(context.Background()) // that of the test ends before its cleanup
	w.ctx = ctx

	start := cluster.Options{Programs: folder, Folder: t.ArtifactDir(), Accounts: options.Accounts}
	if options.NodesCanFail {
		start.NodeGrace = nodeGrace
	}
	if options.PodGroups {
		start.APIServer, start.Gates = servePodGroups(release), podGroupGates(release)
	}
	if options.Audit {
		start.APIServer, err = audited(start.Folder)
		check(t, err)
	}
	w.cluster, err = cluster.Start(ctx, start)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(w.cluster.Stop)
	t.Cleanup(cancel) // watches end before the API server, so that they have nothing to complain about
	if options.Recorded {
		w.check(os.Mkdir(recordings(w.cluster), 0o750))
	}
	w.logClients()
	w.client = w.cluster.Client()
	w.observer, err = observe(ctx, w.client)
	check(t, err)
	w.startKubelets()
	w.startScheduler()
	t.Cleanup(func() { w.instance.Kill() })
	t.Cleanup(w.showFailure)
	return w
}

// logClients sends what client-go says in this process, such as that the API server does
// not answer, to a file instead of the output of the test.
func (w *World) logClients() {
	w.t.Helper()
	log, err := os.Create(filepath.Join(w.cluster.Folder(), "clients.log"))
	w.check(err)
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(log, nil)))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *World) check(err error) {
	w.t.Helper()
	check(w.t, err)
}

func (w *World) startKubelets() {
	w.t.Helper()
	log, err := os.Create(filepath.Join(w.cluster.Folder(), "kubelets.log"))
	w.check(err)
	options := kubelet.Options{Client: w.client, Log: slog.New(slog.NewTextHandler(log, nil)), GracePercent: gracePercent}
	if w.options.NodesCanFail {
		options.LeaseEvery = leaseEvery
	}
	w.kubelets, err = kubelet.Start(w.ctx, options)
	w.check(err)
	w.t.Cleanup(func() {
		w.kubelets.Stop()
		w.check(log.Close())
	})
}

func (w *World) startScheduler() {
	w.t.Helper()
	instance, err := w.scheduler.Start(w.ctx, w.cluster)
	w.check(err)
	w.instance = instance
	if w.options.Shipped && instance.REST() != "" {
		w.token, err = readerToken(w.ctx, w.cluster)
		w.check(err)
	}
}

// logLines is how much of each log a failure shows.
const logLines = 25

func (w *World) showFailure() {
	if w.t.Failed() {
		w.t.Logf("the last changes of pods:\n%s\n%s", w.observer.history(), w.cluster.Logs(logLines))
	}
}

// Step says in the output of the test what comes next, with the time.
func (w *World) Step(format string, args ...any) {
	w.t.Helper()
	w.t.Logf("%s %s", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}
