package oracle

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// reason checks that the reason of an eviction is true, as far as it has numbers and names.
func (c *checker) reason(v move) {
	switch v.plugin.Name {
	case lifeTime, failed:
		c.says(v, "%s old", c.now.Sub(v.pod.CreationTimestamp.Time).Truncate(time.Second))
	case restarts:
		if n := v.pod.Status.ContainerStatuses[0].RestartCount; n > 1 {
			c.says(v, " %d times", n)
		}
	case duplicates:
		c.says(v, "its node has %d pods", len(c.alike(v.pod, v.From)))
	case taints:
		if !c.namesTaint(v) {
			c.says(v, "a taint of the node")
		}
	case apart:
		if !c.namesOther(v) {
			c.says(v, "a pod that its anti-affinity is about")
		}
	case low:
		if !v.plugin.Args.UseDeviationThresholds {
			c.saysUse(v)
		}
	}
}

func (c *checker) says(v move, format string, a ...any) {
	if want := fmt.Sprintf(format, a...); !strings.Contains(v.Reason, want) {
		c.bad("reason "+v.plugin.Name, "%s: %q, not %q", v.Pod, v.Reason, want)
	}
}

// namesTaint says whether the reason names a taint that the pod does not tolerate.
func (c *checker) namesTaint(v move) bool {
	for _, t := range c.m.nodes[v.From].Spec.Taints {
		if strings.Contains(v.Reason, t.ToString()) && !tolerates(v.pod, t) {
			return true
		}
	}
	return false
}

// namesOther says whether the reason names a pod that the anti-affinity of the pod forbids.
func (c *checker) namesOther(v move) bool {
	for _, q := range c.m.pods {
		name := id(q)
		if c.m.standIns[q.UID] {
			name = strings.TrimSuffix(name, "r")
		}
		if !strings.HasSuffix(v.Reason, " "+name) {
			continue
		}
		alone := *c.m
		alone.pods = map[types.UID]*v1.Pod{q.UID: q}
		if alone.against(v.pod, v.From, false) != nil {
			return true
		}
	}
	return false
}

// saysUse checks the percentages of LowNodeUtilization, of each resource of which the node uses
// much.
func (c *checker) saysUse(v move) {
	names, _ := c.m.above(v.From, v.plugin.Args.TargetThresholds)
	for _, k := range names {
		percent := new(big.Rat).Mul(c.m.part(v.From, k), big.NewRat(100, 1))
		whole := new(big.Int).Div(percent.Num(), percent.Denom())
		c.says(v, "(above %d%%)", v.plugin.Args.TargetThresholds[k])
		if percent.IsInt() {
			c.says(v, "%s %d%%", k, whole)
		} else {
			c.says(v, "%s %d.", k, whole)
		}
	}
}
