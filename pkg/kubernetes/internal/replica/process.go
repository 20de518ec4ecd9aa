package replica

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/version"
)

// namespaceFile is where the namespace of a pod is found.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// TokenAudience is that of the tokens with which clients ask the scheduler over REST. Those for the API server
// itself are no use there, so that no client has to send one.
const TokenAudience = "narwhal-scheduler"

// OwnNamespace is the namespace that is given, that of the environment, that of the pod,
// or default.
func OwnNamespace(given string) string {
	text, _ := os.ReadFile(namespaceFile) // there is none outside a cluster
	return cmp.Or(given, os.Getenv("POD_NAMESPACE"), strings.TrimSpace(string(text)), "default")
}

// ClientConfig is how to reach the API server: by a file, by $KUBECONFIG, or as a pod of
// the cluster.
func ClientConfig(kubeconfig, program string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	how, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("how to reach the API server: %w", err)
	}
	how.UserAgent = program + "/" + version.Text()
	return how, nil
}

// UseProtobuf makes requests far cheaper to read and write than with JSON.
func UseProtobuf(how *rest.Config) {
	how.ContentType = "application/vnd.kubernetes.protobuf"
	how.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
}

// Logger is a log of a level and a format, json or text. Errors name the flags log-level
// and log-format.
func Logger(level, format string, out io.Writer) (zap.AtomicLevel, *zap.Logger, error) {
	least, err := zap.ParseAtomicLevel(level)
	if err != nil {
		return least, nil, fmt.Errorf("log-level: %w", err)
	}
	var encoder zapcore.Encoder
	switch format {
	case "json":
		encoding := zap.NewProductionEncoderConfig()
		encoding.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		encoder = zapcore.NewJSONEncoder(encoding)
	case "text":
		encoder = zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig())
	default:
		return least, nil, fmt.Errorf("log-format: %q is neither json nor text", format)
	}
	return least, zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(out)), least)), nil
}

// Redirect has the libraries of this process write to the log too, in its level and its format:
// those of Kubernetes, and what uses the package log. Otherwise a log in JSON has lines
// that are none. It is called before anything else runs.
func Redirect(log *zap.Logger) {
	// Without the option a name that a library gives its logger is a field, which is called like the
	// one that the log has for names.
	klog.SetLoggerWithOptions(zapr.NewLogger(log.Named("kubernetes")), klog.ContextualLogger(true))
	zap.RedirectStdLog(log.Named("go"))
}
