// Package defaults has the values that programs written for YuniKorn expect, where those of
// this scheduler are others.
package defaults

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
)

// Address is where REST is offered: every address of the machine, as a Service and probes
// reach it there.
const Address = ":9080"

// LDAP is the directory with the settings of the LDAP server: a secret is mounted there.
const LDAP = "/run/secrets/ldap"

// HealthInterval is the time between two checks of the health.
const HealthInterval = 30 * time.Second

// Texts are the defaults of configurations: room for daemonsets is made at once, and without an
// access list no user may submit.
func Texts() config.Defaults {
	atOnce := time.Duration(0)
	return config.Defaults{StartDelay: &atOnce, Closed: true}
}
