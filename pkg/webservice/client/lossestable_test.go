package client_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// What a victim lost is told to a tenth of an hour, and that something was lost also where it is less.
func TestLossesTable(t *testing.T) {
	for seconds, want := range map[int64]string{0: "cpu=0", 1: "cpu=<0.1", 360: "cpu=0.1", 3600: "cpu=1", 5400: "cpu=1.5"} {
		table := client.LossesTable([]*client.Loss{{Day: "2026-11-21", LostWork: client.Amounts{"vcore": 1000 * seconds}}})
		assert.Equal(t, table.Rows[0][7], want)
	}
}
