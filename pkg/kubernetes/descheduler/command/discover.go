package command

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// skewMax is how many minor versions the API server and the client library may differ.
const skewMax = 3

// errNoEvictions says that pods cannot be evicted here.
var errNoEvictions = errors.New("the API server has no evictions of policy/v1; Kubernetes 1.22 is the first that has")

// discover looks whether the API server has the evictions that are asked of it, and warns if
// it is much older or newer than what this program was tested with. An API server that does
// not say what it has is no error: evictions will show. One that cannot be asked at all ends a run of
// one cycle.
func discover(d discovery.DiscoveryInterface, client string, once bool, log *zap.Logger) error {
	version, err := d.ServerVersion()
	if once && err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("the API server cannot be asked: %w", err)
	}
	if err != nil {
		log.Warn("version of the API server is not known", zap.Error(err))
	} else if skew, ok := minors(client, version.Minor); ok && max(skew, -skew) > skewMax {
		log.Warn("API server is of another age than this program", zap.String("server", version.GitVersion), zap.String("client", client), zap.Int("minors", skew))
	}
	list, err := d.ServerResourcesForGroupVersion("v1")
	if err != nil {
		log.Warn("resources of the API server are not known", zap.Error(err))
		return nil
	}
	if slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Name == "pods/eviction" && r.Kind == "Eviction" && r.Group == "policy" && r.Version == "v1"
	}) {
		return nil
	}
	return errNoEvictions
}

// minors is by how many minor versions a server is newer than the client library, such as
// v0.36.1. The minor version of a server may end with a plus.
func minors(client, server string) (int, bool) {
	parts := strings.Split(client, ".")
	if len(parts) < 2 {
		return 0, false
	}
	ours, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0, false
	}
	theirs, err := strconv.Atoi(strings.TrimRight(server, "+"))
	return theirs - ours, err == nil
}

// clientVersion is that of the client library, or nothing.
func clientVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == "k8s.io/client-go" {
			return m.Version
		}
	}
	return ""
}

// otherFlags are flags of the descheduler of Kubernetes that are not here, and what is.
var otherFlags = map[string]string{
	"cert-dir":                         "no certificate is made; give --tls-cert-file and --tls-private-key-file, or serve plain HTTP",
	"tls-cipher-suites":                "they are those of Go",
	"tls-min-version":                  "it is TLS 1.2",
	"tls-sni-cert-key":                 "there is one certificate; give --tls-cert-file and --tls-private-key-file",
	"permit-address-sharing":           "there is nothing to take its place",
	"permit-port-sharing":              "there is nothing to take its place",
	"http2-max-streams-per-connection": "there is nothing to take its place",
	"log-flush-frequency":              "the log is written at once",
	"log-json-info-buffer-size":        "the log is written at once",
	"log-json-split-stream":            "the log is on stderr",
	"log-text-info-buffer-size":        "the log is written at once",
	"log-text-split-stream":            "the log is on stderr",
	"vmodule":                          "-v is for all",
}

// explained adds to an error about a flag what is here instead.
func explained(err error) error {
	for name, instead := range otherFlags {
		if err.Error() == "unknown flag: --"+name {
			return fmt.Errorf("%w: %s", err, instead)
		}
	}
	return err
}
