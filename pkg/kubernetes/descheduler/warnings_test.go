package descheduler

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// TestWarnings: each is in every report as long as it lasts, once, and in the log when it is new.
func TestWarnings(t *testing.T) {
	w := newWorld(t)
	log, lines := observer.New(zap.WarnLevel)
	w.options.Log = zap.New(log)
	says := "x"
	w.plugin("All").deschedule = func(_ context.Context, h framework.Handle, _ []*v1.Node) error {
		for range 2 {
			if says != "" {
				h.(framework.Warner).Warn(says)
			}
		}
		return nil
	}
	logged := 0
	for _, c := range []struct {
		says, table string
		logged      int
	}{{"x", "warning of p/All: x\n", 1}, {"x", "warning of p/All: x\n", 1}, {"y", "warning of p/All: y\n", 2}, {"", "", 2}, {"y", "warning of p/All: y\n", 3}} {
		says = c.says
		report, err := w.build().Cycle(t.Context())
		assert.NilError(t, err)
		var table bytes.Buffer
		assert.NilError(t, report.Table(&table))
		_, after, _ := strings.Cut(table.String(), "\n")
		assert.Equal(t, after, c.table)
		logged = lines.FilterMessage("plugin warns").Len()
		assert.Equal(t, logged, c.logged)
	}
}
