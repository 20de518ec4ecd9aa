package usage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// queryTimeout bounds one query, and one list of the metrics API: also where a server takes it and
// does not answer.
const queryTimeout = 30 * time.Second

// prometheus asks a server. The token is read for each query, so that a new one is
// used at once.
type prometheus struct {
	provider Provider
	options  Options
}

func newPrometheus(p Provider, o Options) *prometheus {
	if o.TokenFile == "" {
		o.TokenFile = TokenFile
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	return &prometheus{provider: p, options: o}
}

// ask makes a query, whose answer must be a vector of parts of one, by the label
// instance.
func (p *prometheus) ask(ctx context.Context, query framework.UsageQuery) (framework.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	token, err := p.token(ctx)
	if err != nil {
		return nil, err
	}
	client, err := api.NewClient(api.Config{Address: p.provider.URL, RoundTripper: bearer{token: token, next: p.options.Transport}})
	if err != nil {
		return nil, fmt.Errorf("prometheus: %w", err)
	}
	now := p.options.Clock.Now()
	value, warnings, err := promv1.NewAPI(client).Query(ctx, query.Query, now, promv1.WithTimeout(queryTimeout))
	if err != nil {
		return nil, fmt.Errorf("prometheus: query %q: %w", query.Query, err)
	}
	if len(warnings) > 0 {
		klog.FromContext(ctx).Info("Prometheus warns of a query", "query", query.Query, "warnings", strings.Join(warnings, "; "))
	}
	vector, ok := value.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("prometheus: query %q: the answer is a %s, and no vector", query.Query, value.Type())
	}
	parts, err := read(vector, now.Add(-query.MaxAge))
	if err != nil {
		return nil, fmt.Errorf("prometheus: query %q: %w", query.Query, err)
	}
	return parts, nil
}

// read turns samples into thousandths. One sample that makes no sense shows that the
// query is a wrong one, so none is used. Old samples are left out.
func read(vector model.Vector, oldest time.Time) (parts, error) {
	found := make(parts, len(vector))
	for _, sample := range vector {
		node := string(sample.Metric["instance"])
		switch _, twice := found[node]; {
		case node == "":
			return nil, errors.New("a sample has no label instance")
		case twice:
			return nil, fmt.Errorf("there are two samples of instance %s", node)
		case !(sample.Value >= 0 && sample.Value <= 1): // not a number, too
			return nil, fmt.Errorf("the value %s of instance %s is not between 0 and 1", sample.Value, node)
		case sample.Timestamp.Time().Before(oldest):
			continue
		}
		found[node] = int64(float64(sample.Value)*1000 + 0.5)
	}
	return found, nil
}

// parts are thousandths of nodes that are in use.
type parts map[string]int64

// Node implements framework.Usage.
func (p parts) Node(name string) (v1.ResourceList, bool) {
	part, ok := p[name]
	if !ok {
		return nil, false
	}
	return v1.ResourceList{framework.MetricResource: *resource.NewMilliQuantity(part, resource.DecimalSI)}, true
}

// Pod implements framework.Usage: a query says nothing of pods.
func (parts) Pod(string, string) (v1.ResourceList, bool) { return nil, false }

// token is that of the secret, or else of the service account. Outside of a cluster
// there is none.
func (p *prometheus) token(ctx context.Context) (string, error) {
	if p.provider.SecretName == "" {
		text, err := os.ReadFile(p.options.TokenFile)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return strings.TrimSpace(string(text)), err
	}
	name := p.provider.SecretNamespace + "/" + p.provider.SecretName
	secret, err := p.options.Client.CoreV1().Secrets(p.provider.SecretNamespace).Get(ctx, p.provider.SecretName, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("token for prometheus: %w", err)
	}
	token := strings.TrimSpace(string(secret.Data[TokenKey]))
	if token == "" {
		return "", fmt.Errorf("token for prometheus: secret %s has no %s", name, TokenKey)
	}
	return token, nil
}

// bearer sends a token with each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}
