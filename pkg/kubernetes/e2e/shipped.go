package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/cluster"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
)

// readerAccount and tokenAudience are of those that may read REST in the manifests.
const (
	readerAccount = "narwhal-reader"
	tokenAudience = "narwhal-scheduler"
)

// NarwhalAsShipped is Narwhal with the queues and flags of the manifests, where Narwhal has those of scenarios. Only
// the addresses are others, and it waits for no lease, so that it starts at once after a crash.
func NarwhalAsShipped() Scheduler {
	return program{
		name:    narwhalName,
		missing: Narwhal().Missing,
		start: func(c *cluster.Cluster) (*cluster.Process, string, error) {
			for _, file := range []string{"namespace.yaml", "reader.yaml"} {
				if err := apply(c, filepath.Join(manifests, file)); err != nil {
					return nil, "", err
				}
			}
			if _, err := c.Client().CoreV1().ConfigMaps(narwhalNamespace).Get(context.Background(), configMapName, metav1.GetOptions{}); err != nil {
				if err := apply(c, filepath.Join(manifests, "configuration.yaml")); err != nil { // a scenario may have changed it since
					return nil, "", err
				}
			}
			flags, err := shippedFlags()
			if err != nil {
				return nil, "", err
			}
			return startNarwhal(c, narwhalName, append(flags, "--leader-elect=false")...)
		},
	}
}

// shippedFlags are those of the Deployment, without addresses, which are those of a pod.
func shippedFlags() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(manifests, "scheduler.yaml"))
	if err != nil {
		return nil, fmt.Errorf("manifests: %w", err)
	}
	first, _, _ := strings.Cut(string(text), "\n---\n")
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(first), &deployment); err != nil {
		return nil, fmt.Errorf("manifests: scheduler.yaml: %w", err)
	}
	var flags []string
	for _, flag := range deployment.Spec.Template.Spec.Containers[0].Args {
		if !strings.Contains(flag, "listen=:") {
			flags = append(flags, flag)
		}
	}
	return flags, nil
}

// readerToken is one with which REST can be read where the API server decides on that.
func readerToken(ctx context.Context, c *cluster.Cluster) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{tokenAudience}}}
	answer, err := c.Client().CoreV1().ServiceAccounts(narwhalNamespace).CreateToken(ctx, readerAccount, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of account %s: %w", readerAccount, err)
	}
	return answer.Status.Token, nil
}

// Kubectl runs kubectl as the administrator.
func (w *World) Kubectl(arguments ...string) {
	w.t.Helper()
	w.Step("kubectl %s", strings.Join(arguments, " "))
	w.check(kubectl(w.cluster, arguments...))
}

func kubectl(c *cluster.Cluster, arguments ...string) error {
	program, err := c.Program(programs.Kubectl)
	if err != nil {
		return err
	}
	administrator, err := c.Kubeconfig("administrator", c.Config())
	if err != nil {
		return err
	}
	if output, err := exec.Command(program, append(arguments, "--kubeconfig", administrator)...).CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", arguments[0], err, output)
	}
	return nil
}
