package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/cluster"
)

// deschedulerCommand is the folder of the program, in the Kubernetes module.
var deschedulerCommand = filepath.Join("cmd", "narwhal-descheduler")

var deschedulerProgram = sync.OnceValues(func() (string, error) { return buildCommand(deschedulerCommand) })

// deschedulerManifests are those that install narwhal-descheduler.
var deschedulerManifests = filepath.Join("..", "..", "..", "docs", "deploy", "descheduler", "kustomize")

// deschedulerName is that of the program, its account and its lease in the manifests.
const deschedulerName = "narwhal-descheduler"

// auditLog is where the API server writes what the descheduler asks of it, with Options.Audit.
const auditLog = "audit.log"

// auditPolicy has the API server record the requests of the descheduler and no others.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: ["system:serviceaccount:` + narwhalNamespace + `:` + deschedulerName + `"]
- level: None
`

// audited are the arguments of an API server that records. It answers a request when the
// record is written, so the log is never late.
func audited(folder string) ([]string, error) {
	policy := filepath.Join(folder, "audit.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return []string{"--audit-policy-file=" + policy, "--audit-log-mode=blocking", "--audit-log-path=" + filepath.Join(folder, auditLog)}, nil
}

// Writes are the requests of the descheduler that could have changed something, with their
// number: create pods/eviction, or 429 of create pods/eviction where a budget was used up.
func (w *World) Writes() map[string]int {
	w.t.Helper()
	log, err := os.Open(filepath.Join(w.cluster.Folder(), auditLog))
	w.check(err)
	defer func() { _ = log.Close() }()
	writes, records := map[string]int{}, 0
	for lines := bufio.NewReader(log); ; records++ {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		}
		w.check(err)
		var record struct {
			Verb      string
			ObjectRef struct{ Resource, Subresource string }

			ResponseStatus struct{ Code int }
		}
		w.check(json.Unmarshal([]byte(line), &record))
		if slices.Contains([]string{"get", "list", "watch"}, record.Verb) {
			continue
		}
		what := record.Verb + " " + record.ObjectRef.Resource
		if sub := record.ObjectRef.Subresource; sub != "" {
			what += "/" + sub
		}
		if code := record.ResponseStatus.Code; code >= http.StatusMultipleChoices {
			what = fmt.Sprintf("%d of %s", code, what)
		}
		writes[what]++
	}
	assert.Assert(w.t, records > 0, "nothing was recorded")
	return writes
}

// InstallDescheduler creates the account of the descheduler as the manifests have it. It may do
// what its roles allow and nothing else. Further files are applied too, such as the role of
// an evict plugin.
func (w *World) InstallDescheduler(files ...string) {
	w.t.Helper()
	w.check(apply(w.cluster, append([]string{filepath.Join(deschedulerManifests, "namespace.yaml"), filepath.Join(deschedulerManifests, "account.yaml")}, files...)...))
	config, err := w.cluster.ConfigOf(w.ctx, narwhalNamespace, deschedulerName)
	w.check(err)
	_, err = w.cluster.Kubeconfig(deschedulerName, config)
	w.check(err)
}

// WritePolicy writes the policy file, which a descheduler that runs looks at. It is replaced
// as a whole, as that of a ConfigMap is.
func (w *World) WritePolicy(policy string) {
	w.t.Helper()
	fresh := w.policyFile() + ".new"
	w.check(os.WriteFile(fresh, []byte(policy), 0o600))
	w.check(os.Rename(fresh, w.policyFile()))
}

func (w *World) policyFile() string { return filepath.Join(w.cluster.Folder(), "policy.yaml") }

func (w *World) deschedulerArguments(more ...string) []string {
	return append([]string{
		"--policy-config-file=" + w.policyFile(),
		"--kubeconfig=" + filepath.Join(w.cluster.Folder(), deschedulerName+".kubeconfig"),
		"--scheduler-namespace=" + narwhalNamespace,
	}, more...)
}

// Deschedule runs the program until it ends, as one cycle does, and returns what it prints.
func (w *World) Deschedule(arguments ...string) string {
	w.t.Helper()
	w.Step("narwhal-descheduler %s", strings.Join(arguments, " "))
	path, err := deschedulerProgram()
	w.check(err)
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	var problems strings.Builder
	command := exec.CommandContext(ctx, path, w.deschedulerArguments(append(arguments, "--secure-port=0")...)...)
	command.Stderr = &problems
	output, err := command.Output()
	assert.NilError(w.t, err, "%s", &problems)
	w.checkMessages(problems.String())
	return string(output)
}

// StartDescheduler starts it, and waits until it serves.
func (w *World) StartDescheduler(arguments ...string) *Served {
	w.t.Helper()
	path, err := deschedulerProgram()
	w.check(err)
	port, err := cluster.FreePort()
	w.check(err)
	process, err := w.cluster.LaunchPath(deschedulerName, path, w.deschedulerArguments(append(arguments, fmt.Sprintf("--secure-port=%d", port))...)...)
	w.check(err)
	d := &Served{Process: process, w: w, url: fmt.Sprintf("http://127.0.0.1:%d", port)}
	d.Await("/healthz", "ok")
	w.t.Cleanup(func() {
		process.Kill()
		w.checkMessages(process.Log(1 << 20))
	})
	return d
}

// checkMessages looks for what the roles in the manifests do not allow, and for what is no JSON.
func (w *World) checkMessages(log string) {
	w.t.Helper()
	if log == "" {
		return
	}
	for _, problem := range badLines(log) {
		w.t.Errorf("the log of %s: %s", deschedulerName, problem)
	}
	for line := range strings.SplitSeq(log, "\n") {
		if strings.Contains(line, "forbidden") {
			w.t.Errorf("the descheduler may not do all that it needs: %s", line)
		}
	}
}
