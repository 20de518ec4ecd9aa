package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
)

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		name, args string
		code       int
		says       string
	}{
		{"help", "--help", exitDone, "Of several replicas one leads"},
		{"version", "--version", exitDone, "narwhal-scheduler v0.1.0"},
		{"unknown flag", "--colour", exitUsage, "unknown flag: --colour"},
		{"an argument", "now", exitUsage, "unknown command"},
		{"half of TLS", "--tls-cert x", exitUsage, "tls-key"},
		{"log level", "--log-level loud", exitFailed, "log-level: "},
		{"log format", "--log-format prose", exitFailed, "neither json nor text"},
		{"no settings of LDAP", "--ldap does-not-exist", exitFailed, "ldap config: "},
		{"no such kubeconfig", "--kubeconfig does-not-exist", exitFailed, "how to reach the API server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			assert.Equal(t, Run(t.Context(), Streams{&out, &out}, strings.Fields(c.args)), c.code)
			assert.Assert(t, strings.Contains(out.String(), c.says), out.String())
		})
	}
}

// The profile of YuniKorn places by the order of nodes alone, as far as nothing else is said.
func TestPreferredPlacesOfTheProfile(t *testing.T) {
	for args, prefers := range map[string]bool{"": true, "--like-yunikorn": false, "--like-yunikorn --preferred-places": true, "--preferred-places=false": false} {
		var s settings
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.define(flags)
		assert.NilError(t, flags.Parse(strings.Fields(args)))
		s.complete(flags)
		assert.Equal(t, s.prefer, prefers, args)
	}
}
