package client_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// TestOwnersTable: what is in several queues is told in all, and then by queue.
func TestOwnersTable(t *testing.T) {
	ago := func(seconds int64) int64 { return now.UnixNano() - seconds*1e9 }
	owners := []*client.Owner{
		{User: "ada", LimitPercent: new(int64(120)), Usage: &client.Usage{
			Queue: "root", PendingAsks: 5, Oldest: ago(90), Arrivals: 7, Used: client.Amounts{"vcore": 3000}, Children: []*client.Usage{
				{Queue: "root.ml", PendingAsks: 4, Oldest: ago(90), Arrivals: 7, Children: []*client.Usage{{Queue: "root.ml.a", PendingAsks: 4, Oldest: ago(90), Arrivals: 7}}},
				{Queue: "root.web", PendingAsks: 1, Oldest: ago(10), Used: client.Amounts{"vcore": 3000}},
			},
		}},
		{User: "bob", LimitPercent: new(int64), Usage: &client.Usage{Queue: "root.web"}},
		{Usage: &client.Usage{Queue: "root", Arrivals: 1, Children: []*client.Usage{{Queue: "root.web", Arrivals: 1}}}},
	}
	var out strings.Builder
	assert.NilError(t, client.OwnersTable(owners, now).Write(&out))
	assert.Equal(t, out.String(), `USER   QUEUE       PENDING   OLDEST   CAME IN 5M   USES    OF ITS LIMIT
ada    root              5   90s               7   cpu=3           120%
       root.ml.a         4   90s               7   -
       root.web          1   10s               0   cpu=3
bob    root.web          0   -                 0   -                 0%
-      root.web          0   -                 1   -                  -
`)
}

// TestApplicationsTable: what placeholders hold is used, as queues count it.
func TestApplicationsTable(t *testing.T) {
	var gang client.Application
	assert.NilError(t, json.Unmarshal([]byte(`{"applicationID": "gang", "queueName": "root.a", "heldResource": {"vcore": 8000}}`), &gang))
	assert.Equal(t, client.ApplicationsTable([]*client.Application{&gang}, now).Rows[0][6], "cpu=8")
	assert.Assert(t, strings.Contains(client.ApplicationFields, "heldResource"))
}
