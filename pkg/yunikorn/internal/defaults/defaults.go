// Package defaults has the values that programs written for YuniKorn expect, where those of
// this scheduler are others. Those of configurations are config.LikeYuniKorn.
package defaults

import "time"

// Address is where REST is offered: every address of the machine, as a Service and probes
// reach it there.
const Address = ":9080"

// LDAP is the directory with the settings of the LDAP server: a secret is mounted there.
const LDAP = "/run/secrets/ldap"

// HealthInterval is the time between two checks of the health.
const HealthInterval = 30 * time.Second
