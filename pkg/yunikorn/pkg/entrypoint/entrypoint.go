// Package entrypoint starts the scheduler for a program that was written for YuniKorn: the
// scheduler, REST with the dashboard, and the check of the health.
//
//	entrypoint.go  what a program calls
//	start.go       the parts, and how they end
//	manager.go     the scheduler-interface as the program sees it
//	groups.go      groups of users from LDAP
//	health.go      the health is checked from time to time
//	background.go  work in goroutines of its own
package entrypoint

import (
	"os"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"go.uber.org/zap"

	"github.com/apache/yunikorn-core/internal/defaults"
	_ "github.com/apache/yunikorn-core/pkg/locking" // or go-deadlock checks the locks of a program that starts this
	"github.com/apache/yunikorn-core/pkg/log"
	"github.com/apache/yunikorn-core/pkg/scheduler"
)

// A ServiceContext is a scheduler that runs.
type ServiceContext struct {
	RMProxy   api.SchedulerAPI
	Scheduler *scheduler.Scheduler

	services *services
}

// StartAllServices starts a scheduler that writes to the logger of package log, which is standard error
// from level info on unless the program has set another one.
func StartAllServices() *ServiceContext { return StartAllServicesWithParams(false, true) }

// StartAllServicesWithParams is StartAllServices, without REST if that is not wanted. The scheduler places asks when
// something changes, also where they are to be placed at the program's word.
func StartAllServicesWithParams(_, withWebapp bool) *ServiceContext {
	settings := settingsOf(log.Root(), log.GetZapConfigs())
	if !withWebapp {
		settings.address = ""
	}
	return start(settings)
}

// StartAllServicesWithLogger starts a scheduler that writes to the logger of the caller; the
// setting log.level changes the level of its configuration, which may be nil. A program may start
// several: they share nothing but the port of REST, which the first one has.
func StartAllServicesWithLogger(logger *zap.Logger, zapConfigs *zap.Config) *ServiceContext {
	if logger != nil {
		log.InitializeLogger(logger, zapConfigs) // for what the program says by itself
	}
	return start(settingsOf(logger, zapConfigs))
}

// settingsOf are the settings of a program with such a logger.
func settingsOf(logger *zap.Logger, zapConfigs *zap.Config) settings {
	settings := settings{logger: logger, address: defaults.Address, ldap: defaults.LDAP, getenv: os.Getenv}
	if zapConfigs != nil && zapConfigs.Level != (zap.AtomicLevel{}) {
		settings.level = &zapConfigs.Level
	}
	return settings
}

// StopAll ends everything. What is called later fails.
func (c *ServiceContext) StopAll() { c.services.stop() }
