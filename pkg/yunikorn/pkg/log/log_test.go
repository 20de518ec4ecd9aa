package log

import (
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
)

// TestTheFirstLoggerCounts: what a program sets before a logger is used is written to, under the names that operators know.
func TestTheFirstLoggerCounts(t *testing.T) {
	core, told := observer.New(zapcore.InfoLevel)
	config := zap.NewProductionConfig()
	InitializeLogger(zap.New(core), &config)
	InitializeLogger(zap.NewNop(), nil)
	Log(SchedQueue).Info("a queue is made")
	assert.Equal(t, told.All()[0].LoggerName, "core.scheduler.queue")
	assert.Equal(t, GetZapConfigs(), &config)
	assert.Equal(t, Core.String(), "core")
}
