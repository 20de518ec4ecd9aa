package command

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// followInterval is how often the policy file is looked at. A ConfigMap that is mounted
// takes longer than that to arrive.
const followInterval = 10 * time.Second

// A follower brings changes of the policy file into use.
type follower struct {
	file   *file
	reload func(context.Context, *policy.Policy) error
	// refused is called with what keeps a new policy from being used; the old one stays.
	refused func(error)
	unused  bool // the text that was read last is not in use
	log     *zap.Logger
	results *prometheus.CounterVec
	usable  prometheus.Gauge
}

// newFollower makes a follower whose metrics are registered.
func newFollower(f *file, log *zap.Logger, metrics prometheus.Registerer) *follower {
	w := &follower{
		file: f, log: log, refused: func(error) {},
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "descheduler", Name: "policy_reloads_total", Help: "Changes of the policy file, by result.",
		}, []string{"result"}),
		usable: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "descheduler", Name: "policy_usable", Help: "1 if the policy file as it is now is in use, 0 if an older one is.",
		}),
	}
	metrics.MustRegister(w.results, w.usable)
	w.usable.Set(1)
	return w
}

// run looks at the file until the context ends.
func (w *follower) run(ctx context.Context) {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.look(ctx)
		}
	}
}

// look brings the file into use if it has changed. What is wrong is told once for each
// text.
func (w *follower) look(ctx context.Context) {
	changed, err := w.file.changed()
	if err != nil {
		w.usable.Set(0)
		w.log.Warn("policy file cannot be read", zap.Error(err))
		return
	}
	if !changed {
		if !w.unused {
			w.usable.Set(1) // also where the file could not be read for a while
		}
		return
	}
	w.unused = true
	p, warnings, err := w.file.load()
	for _, warning := range warnings {
		w.log.Warn("policy", zap.String("problem", warning.Format(w.file.name)))
	}
	if err == nil {
		err = w.reload(ctx, p)
	}
	if err != nil {
		w.results.WithLabelValues("error").Inc()
		w.usable.Set(0)
		w.log.Error("the changed policy is not used, the one before stays in use", zap.Error(err))
		w.refused(err)
		return
	}
	w.results.WithLabelValues("success").Inc()
	w.usable.Set(1)
	w.unused = false
	w.log.Info("the changed policy is in use", zap.Int("profiles", len(p.Profiles)))
	if p.Settings != (policy.Settings{}) {
		w.log.Info("settings of the process in the policy file take effect after a restart only")
	}
}
