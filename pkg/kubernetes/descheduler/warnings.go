package descheduler

import (
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A Warning is what keeps a plugin from its work, or makes it useless.
type Warning struct {
	Profile string `json:"profile"` // empty: it is of the policy before
	Plugin  string `json:"plugin"`
	Text    string `json:"text"`
}

// warnings are those since the last report. It is safe for concurrent use.
type warnings struct {
	mu          sync.Mutex
	now, before []Warning // before: of the last report
}

// add says whether a warning is neither among those since the last report nor in that.
func (w *warnings) add(one Warning) (fresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.Contains(w.now, one) {
		return false
	}
	w.now = append(w.now, one)
	return !slices.Contains(w.before, one)
}

// take returns those for a report.
func (w *warnings) take() []Warning {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before, w.now = w.now, nil
	return w.before
}

var _ framework.Warner = (*handle)(nil)

// Warn implements framework.Warner.
func (h *handle) Warn(text string) {
	if h.d.warnings.add(Warning{h.profile.name, h.plugin, text}) {
		h.d.options.Log.Warn("plugin warns", append(field(h.profile, h.plugin, nil), zap.String("why", text))...)
	}
}
