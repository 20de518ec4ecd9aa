package cores

import (
	"fmt"
	"runtime/debug"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
)

// The names of the cores.
const (
	Narwhal  = "narwhal"
	YuniKorn = "yunikorn"
)

// A Core is a scheduler that runs.
type Core struct {
	api.SchedulerAPI
	// Partition is what a partition of its configuration holds besides the queues, with two
	// blanks in front. Both cores refuse keys that they do not know.
	Partition string
	// Extra is the extra configuration of a registration.
	Extra map[string]string
	// End stops it.
	End func()
}

// withoutEvents has both cores make no event records and log errors only.
var withoutEvents = map[string]string{"log.level": "ERROR", "event.trackingEnabled": "false"}

// A kind is how a core is started and where its version is found.
type kind struct {
	start  func() (*Core, error)
	module string
}

var kinds = map[string]kind{
	Narwhal:  {startNarwhal, "github.com/narwhal-scheduler/narwhal"},
	YuniKorn: {startYuniKorn, "github.com/apache/yunikorn-core"},
}

// Start starts the core of a name. There should be one in a process, since yunikorn-core
// keeps a part of its state in variables of packages.
func Start(name string) (*Core, error) {
	k, ok := kinds[name]
	if !ok {
		return nil, fmt.Errorf("core %q: there are %s and %s", name, Narwhal, YuniKorn)
	}
	return k.start()
}

// Version is the version of the module of a core in this program; that of this repository
// is the commit, if it is known.
func Version(name string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == kinds[name].module && module.Replace == nil {
			return module.Version
		}
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value[:min(8, len(setting.Value))]
		}
	}
	return "of this checkout"
}
