package metrics_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const (
	alertsFile = "../../docs/grafana/alerts.yaml"
	alertsTest = "testdata/alerts_test.yaml"
)

var alertName = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)

// TestAlerts looks up what the alerts ask for in a scrape, but for those of the Kubernetes module, which does so itself. The
// document names every alert, and each has a case in which it fires and one in which it does not.
func TestAlerts(t *testing.T) {
	rules, err := os.ReadFile(alertsFile)
	assert.NilError(t, err)
	table, err := os.ReadFile(tableFile)
	assert.NilError(t, err)
	cases, err := os.ReadFile(alertsTest)
	assert.NilError(t, err)
	_, asked, _ := strings.Cut(string(rules), "groups:")
	asked, _, _ = strings.Cut(asked, "- name: narwhal-kubernetes")
	assert.Equal(t, askFor(t, gathered(t), asked), 12)
	names := alertName.FindAllStringSubmatch(string(rules), -1)
	assert.Equal(t, len(names), 13)
	for _, name := range names {
		assert.Assert(t, strings.Contains(string(table), "`"+name[1]+"`"), name[1])
		assert.Assert(t, strings.Count(string(cases), "alertname: "+name[1]+"\n") > 1, name[1])
	}
}

// TestAlertsFire has promtool read the rules and play their cases.
func TestAlertsFire(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("the alerts were NOT played: promtool is not in PATH; the package prometheus of Debian brings it")
	}
	for _, arguments := range [][]string{{"check", "rules", alertsFile}, {"test", "rules", alertsTest}} {
		said, err := exec.Command(promtool, arguments...).CombinedOutput()
		assert.NilError(t, err, "%s", said)
	}
}
