package plugins_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/podindex"
)

// TestFewPodsAreLookedAtInADomain: of a workload with 10,000 pods a pod looks at those in its
// domain, and not at all of them for each.
func TestFewPodsAreLookedAtInADomain(t *testing.T) {
	const pods = 10_000
	all := make([]*v1.Pod, pods)
	for i := range all {
		all[i] = ft.Pod(fmt.Sprintf("a/p%05d", i), fmt.Sprintf("n%d", i/10), "", ft.Labelled("app=web"))
	}
	all = append(all, ft.Pod("a/other", "n-1", ""))
	asked := 0
	domainOf := func(p *v1.Pod) (string, bool) {
		asked++
		return p.Spec.NodeName, p.Spec.NodeName != "n3"
	}
	x := podindex.New(all)
	for _, text := range []string{"app=web", "app in (db, web)", "tier!=back"} {
		selector, err := labels.Parse(text)
		assert.NilError(t, err)
		for i := range pods / 10 {
			want := 10
			if i == 3 {
				want = 0 // in no domain
			}
			got := x.Within(selector, v1.LabelHostname, fmt.Sprintf("n%d", i), domainOf)
			assert.Equal(t, len(got), want)
			assert.Assert(t, want == 0 || got[0] == all[10*i])
		}
	}
	assert.Equal(t, asked, pods+len(all)) // with the label, and all: each once
	nothing := x.Within(labels.Nothing(), v1.LabelHostname, "n1", domainOf)
	assert.Equal(t, len(nothing), 0)
}
