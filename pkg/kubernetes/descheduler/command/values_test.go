package command

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// withArgs is a policy in which one plugin is enabled at a point with arguments.
func withArgs(plugin, point, args string) string {
	return smallest + fmt.Sprintf("profiles: [{name: a, pluginConfig: [{name: %s, args: {%s}}], plugins: {%s: {enabled: [%s]}}}]\n", plugin, args, point, plugin)
}

// TestValuesOfArguments: what the arguments of real plugins may be, and what is said of others.
func TestValuesOfArguments(t *testing.T) {
	for _, c := range []struct{ plugin, point, args, want string }{
		{"MigrationController", "evict", "evictQPS: x", `args.evictQPS: must be a number such as 10 or 0.5, not "x"`},
		{"MigrationController", "evict", "evictQPS: .nan", `args.evictQPS: must be a number such as 10 or 0.5, not .nan`},
		{"MigrationController", "evict", "evictQPS: .inf", `args.evictQPS: must be a number such as 10 or 0.5, not .inf`},
		{"MigrationController", "evict", "evictQPS: 0", `args.evictQPS: must be above 0, not 0`},
		{"MigrationController", "evict", "evictQPS: 1e300", `args.evictQPS: must be from 0.00001, about one a day, to 1000000, not 1e+300`},
		{"MigrationController", "evict", "maxMigratingPerWorkload: [1]", `must be a whole number or a percentage, such as 2 or 10%, not a list`},
		{"HighNodeUtilization", "balance", "thresholds: {cpu: 20%}", `args.thresholds.cpu: must be a number of percent such as 20, not "20%"`},
		{"HighNodeUtilization", "balance", "thresholds: {example.org/x: 120}", `args.thresholds.example.org/x: must be from 0 to 100, not 120`},
		{"LowNodeUtilization", "balance", "metricsUtilization: {source: KubernetesMetrics}, thresholds: {cpu: 20}, targetThresholds: {cpu: 50}", "args.metricsUtilization: LowNodeUtilization needs measured use of the source KubernetesMetrics, which the policy does not name; write at its top metricsProviders: [{source: KubernetesMetrics}]"},
		{"LowNodeLoad", "balance", "lowThresholds: {cpu: 20}, highThresholds: {cpu: 50}", "pluginConfig[0].name: LowNodeLoad needs measured use"},
		{"LowNodeLoad", "balance", "nodePools: [{name: x, lowThresholds: {cpu: 20}, highThresholds: {cpu: 200}}]", "args.nodePools[0].highThresholds.cpu: must be from 0 to 100, not 200"},
		{"RemovePodsViolatingNodeTaints", "deschedule", "includedTaints: [a, b=c=d]", `args.includedTaints[1]: must be KEY or KEY=VALUE, not "b=c=d"`},
	} {
		f := &file{registry: complete(t), text: []byte(withArgs(c.plugin, c.point, c.args))}
		_, _, err := f.load()
		assert.ErrorContains(t, err, c.want)
	}
}

// TestPrintedRate: a rate that is written as a text is printed as a number, which loads again.
func TestPrintedRate(t *testing.T) {
	for written, printed := range map[string]string{`"10"`: "10", "10.5": "10.5", `"0.5"`: "0.5", "1000000": "1e+06", "0.00001": "1e-05"} {
		text := []byte(withArgs("MigrationController", "evict", "evictQPS: "+written))
		loads(t, "policy", text)
		f := &file{registry: complete(t), text: text}
		p, _, err := f.load()
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(string(policy.Print(p, f.registry, f.options())), "\n          evictQPS: "+printed+"\n"), printed)
	}
}
