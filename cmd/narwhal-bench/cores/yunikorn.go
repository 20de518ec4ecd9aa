package cores

import (
	"github.com/apache/yunikorn-core/pkg/entrypoint"
	"github.com/apache/yunikorn-core/pkg/log"
	"go.uber.org/zap"
)

// startYuniKorn starts all services but REST. Nothing is logged, and what would be made for
// a log is left out as far as levels allow it.
func startYuniKorn() (*Core, error) {
	quiet := zap.NewProductionConfig()
	quiet.Level = zap.NewAtomicLevelAt(zap.FatalLevel)
	log.InitializeLogger(zap.NewNop(), &quiet)
	services := entrypoint.StartAllServicesWithParams(false, false)
	return &Core{
		SchedulerAPI: services.RMProxy,
		Partition:    "  preemption:\n    enabled: true\n",
		Extra:        withoutEvents,
		End:          services.StopAll,
	}, nil
}
