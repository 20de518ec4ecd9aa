package shim

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
)

// Keys of a ConfigMap that are read here. Further ones go to the core.
const (
	keyClusterID      = "service.clusterId"
	keyPolicyGroup    = "service.policyGroup"
	keyVolumeTimeout  = "service.volumeBindTimeout"
	keyHotRefresh     = "service.enableConfigHotRefresh"
	keyNoGangs        = "service.disableGangScheduling"
	keyImage          = "service.placeholderImage"
	keyQPS            = "kubernetes.qps"
	keyBurst          = "kubernetes.burst"
	defaultGroup      = "queues"
	configurationsMax = 4 << 20 // bytes of a queue configuration that was packed
)

// idleKeys are keys that YuniKorn knows and that have no effect here, with the reason.
var idleKeys = map[string]string{
	"service.schedulingInterval":           "scheduling begins when something changes, not at intervals",
	"service.dispatchTimeout":              "nothing is dispatched with a time limit",
	"service.eventChannelCapacity":         "what waits is bounded by the scheduler core",
	"service.placeholderRunAsUser":         "placeholders run as the user of their image",
	"service.placeholderRunAsGroup":        "placeholders run as the user of their image",
	"service.placeholderFsGroup":           "placeholders have no volumes",
	"service.nodeInstanceTypeNodeLabelKey": "the label of Kubernetes is read",
}

// A Configuration is what ConfigMaps say.
type Configuration struct {
	Queues string            // YAML of the partitions; empty is the default of the core
	Extra  map[string]string // every key that is no queue configuration

	ClusterID     string        // empty if it is not stated
	VolumeTimeout time.Duration // zero if it is not stated
	QPS, Burst    int           // of the client of the API server; zero if not stated
	NoGangs       bool          // no placeholders are made, and nothing waits for any
	Image         string        // of placeholders; empty if it is not stated
	Frozen        bool          // changes have no effect until the next start
	Warnings      []string      // what has no effect, for people to read
}

// ReadConfiguration reads ConfigMaps; a later one goes before an earlier one, and nil is an
// empty one. The error names all that is wrong; the rest is read all the same.
func ReadConfiguration(objects ...*v1.ConfigMap) (Configuration, error) {
	c := Configuration{Extra: map[string]string{}}
	texts := map[string]string{}
	var problems []error
	for _, m := range objects {
		if m == nil {
			continue
		}
		maps.Copy(texts, m.Data)
		for key, packed := range m.BinaryData {
			text, err := unpack(packed)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s of ConfigMap %s: %w", key, m.Name, err))
				continue
			}
			texts[strings.TrimSuffix(key, ".gz")] = text
		}
	}
	group := texts[keyPolicyGroup]
	if group == "" {
		group = defaultGroup
	}
	for key, value := range texts {
		switch {
		case key == group+".yaml":
			c.Queues = value
		case !strings.HasSuffix(key, ".yaml"):
			c.Extra[key] = strings.TrimSpace(value)
		}
	}
	return c, errors.Join(append(problems, c.read()...)...)
}

// unpack is the text of a value that gzip has packed.
func unpack(packed []byte) (string, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", fmt.Errorf("unpacking: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, configurationsMax+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("unpacking: %w", err)
	case len(text) > configurationsMax:
		return "", fmt.Errorf("unpacked it is larger than %d bytes", configurationsMax)
	}
	return string(text), nil
}

// pack is what unpack reads.
func pack(text string) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed) // a buffer takes everything
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return packed.Bytes()
}

// read takes the settings of the shim out of the extra keys.
func (c *Configuration) read() []error {
	var problems []error
	c.ClusterID = c.Extra[keyClusterID]
	if text := c.Extra[keyVolumeTimeout]; text != "" {
		timeout, err := time.ParseDuration(text)
		if err != nil || timeout <= 0 {
			problems = append(problems, fmt.Errorf("%s: %q is no duration above zero", keyVolumeTimeout, text))
		}
		c.VolumeTimeout = max(0, timeout)
	}
	number := func(key string, into *int) {
		text := c.Extra[key]
		if text == "" {
			return
		}
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			problems = append(problems, fmt.Errorf("%s: %q is no number above zero", key, text))
			return
		}
		*into = n
	}
	number(keyQPS, &c.QPS)
	number(keyBurst, &c.Burst)
	truth := func(key string, otherwise bool) bool {
		text := c.Extra[key]
		if text == "" {
			return otherwise
		}
		is, err := strconv.ParseBool(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %q is neither true nor false", key, text))
			return otherwise
		}
		return is
	}
	c.Frozen = !truth(keyHotRefresh, true)
	c.NoGangs = truth(keyNoGangs, false)
	c.Image = c.Extra[keyImage]
	for _, key := range slices.Sorted(maps.Keys(c.Extra)) {
		if reason, idle := idleKeys[key]; idle {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s has no effect: %s", key, reason))
		}
	}
	return problems
}

// Configure takes a new configuration while the scheduler runs. One that is wrong changes
// nothing. What it says is told in the log, and as an event about the ConfigMap if that is
// not nil.
func (c *Context) Configure(next Configuration, problem error, about *v1.ConfigMap) error {
	for _, warning := range next.Warnings {
		c.log.Warn("setting has no effect", zap.String("problem", warning))
	}
	if next.Frozen {
		c.log.Info("configuration changes at the next start only", zap.String("key", keyHotRefresh))
		return nil
	}
	// What the shim cannot read does not keep the queues from being updated.
	err := c.options.Core.UpdateConfiguration(&si.UpdateConfigurationRequest{
		RmID: c.options.ClusterID, PolicyGroup: defaultGroup, Config: next.Queues, ExtraConfig: next.Extra,
	})
	if err == nil {
		c.use(next.Queues)
		c.reconsider()
	}
	if err = errors.Join(problem, err); err != nil {
		c.refuse(err)
		c.tellRefusal(about)
		return err
	}
	c.log.Info("configuration updated")
	c.events.about(about, v1.EventTypeNormal, reasonConfigured, "the configuration is in use")
	return nil
}

// about tells of a ConfigMap.
func (w *eventWriter) about(m *v1.ConfigMap, kind, reason, note string) {
	if m != nil {
		w.put(string(m.UID)+m.ResourceVersion, Event{m, kind, reason, actionConfiguring, note})
	}
}
