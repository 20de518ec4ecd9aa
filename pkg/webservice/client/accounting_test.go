package client_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// TestAccountingTable: in a terminal of 80 columns days are whole, and names are broken at dots and equals signs.
func TestAccountingTable(t *testing.T) {
	work := client.Amounts{"vcore": 1_000_000, "memory": 50 << 40, "ephemeral-storage": 9 << 40, "nvidia.com/gpu": 100_000}
	accounts := []*client.Account{
		{Day: "2026-11-29", Queue: "root.system.agents", User: "system:serviceaccount", Used: work, Wasted: work, Preempted: work, Evicted: 1200, Evictions: 7},
		{Day: "2026-11-29", Queue: "root.team20.batch", User: "ada", Used: work},
	}
	var out strings.Builder
	assert.NilError(t, client.AccountingTable(accounts, time.Time{}).WriteIn(&out, client.Layout{Width: 80}))
	golden.Assert(t, out.String(), "accounting-80.golden")
}
