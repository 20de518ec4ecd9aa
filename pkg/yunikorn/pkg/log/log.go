// Package log has the loggers of the scheduler, for programs that set one before they start it, or write to it themselves.
package log

import (
	"sync"

	"go.uber.org/zap"
)

// A LoggerHandle names a logger. The levels of those that this scheduler has are log.<logger>.level of the settings.
type LoggerHandle struct{ name string }

// String is the name.
func (h LoggerHandle) String() string { return h.name }

// The loggers that programs know by name.
var (
	Core                        = &LoggerHandle{"core"}
	Test                        = &LoggerHandle{"test"}
	Deprecation                 = &LoggerHandle{"deprecation"}
	Config                      = &LoggerHandle{"core.config"}
	Entrypoint                  = &LoggerHandle{"core.entrypoint"}
	Events                      = &LoggerHandle{"core.events"}
	OpenTracing                 = &LoggerHandle{"core.opentracing"}
	Resources                   = &LoggerHandle{"core.resources"}
	REST                        = &LoggerHandle{"core.rest"}
	RMProxy                     = &LoggerHandle{"core.rmproxy"}
	RPC                         = &LoggerHandle{"core.rpc"}
	Metrics                     = &LoggerHandle{"core.metrics"}
	Scheduler                   = &LoggerHandle{"core.scheduler"}
	SchedAllocation             = &LoggerHandle{"core.scheduler.allocation"}
	SchedApplication            = &LoggerHandle{"core.scheduler.application"}
	SchedAppUsage               = &LoggerHandle{"core.scheduler.application.usage"}
	SchedContext                = &LoggerHandle{"core.scheduler.context"}
	SchedFSM                    = &LoggerHandle{"core.scheduler.fsm"}
	SchedHealth                 = &LoggerHandle{"core.scheduler.health"}
	SchedNode                   = &LoggerHandle{"core.scheduler.node"}
	SchedPartition              = &LoggerHandle{"core.scheduler.partition"}
	SchedPreemption             = &LoggerHandle{"core.scheduler.preemption"}
	SchedQueue                  = &LoggerHandle{"core.scheduler.queue"}
	SchedReservation            = &LoggerHandle{"core.scheduler.reservation"}
	SchedUGM                    = &LoggerHandle{"core.scheduler.ugm"}
	SchedNodesUsage             = &LoggerHandle{"core.scheduler.nodesusage"}
	Security                    = &LoggerHandle{"core.security"}
	Utils                       = &LoggerHandle{"core.utils"}
	Diagnostics                 = &LoggerHandle{"core.diagnostics"}
	SchedQuotaChangePreemption  = &LoggerHandle{"core.scheduler.preemption.quotachange"}
	SchedRequiredNodePreemption = &LoggerHandle{"core.scheduler.preemption.requirednode"}
)

// set is what a program set, or what holds without that.
var set struct {
	mu     sync.Mutex
	root   *zap.Logger // nil before the first use
	config *zap.Config
}

// InitializeLogger has schedulers that are started later write to a logger. What is set first counts, and nothing that is
// set after a logger was used.
func InitializeLogger(log *zap.Logger, zapConfig *zap.Config) {
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.root == nil {
		set.root, set.config = log, zapConfig
	}
}

// Log is the logger of a name.
func Log(handle *LoggerHandle) *zap.Logger { return Root().Named(handle.name) }

// GetZapConfigs is the configuration of the logger, nil where a program set none with it.
func GetZapConfigs() *zap.Config {
	Root()
	set.mu.Lock()
	defer set.mu.Unlock()
	return set.config
}

// Root is the logger that was set, or else one that writes to standard error from level info on.
func Root() *zap.Logger {
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.root != nil {
		return set.root
	}
	config := zap.NewProductionConfig()
	logger, err := config.Build()
	if err != nil {
		logger = zap.NewNop() // standard error is not there
	}
	set.root, set.config = logger, &config
	return logger
}
