package podlabels

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// What is found for a selector has each pod that it matches, once, and few others.
func TestNear(t *testing.T) {
	of := map[string]labels.Set{
		"a1": {"app": "a", "tier": "front"}, "a2": {"app": "a", "tier": "back"}, "b1": {"app": "b", "tier": "back"}, "c1": {"app": "c"}, "none": {},
	}
	x := Index[string]{}
	for pod, set := range of {
		for key, value := range set {
			x.Add(Label{key, value}, types.UID(pod), pod)
		}
	}
	for text, looks := range map[string]int{
		"app=a": 2, "app in (a, c)": 3, "app=a,tier=back": 2, "app in (a, b),tier=front": 1, "app=a,tier!=back": 2, "app=x": 0, "": -1, "tier": -1, "app!=a": -1,
	} {
		selector, err := labels.Parse(text)
		assert.NilError(t, err)
		lists, ok := Choices(selector)
		assert.Assert(t, ok)
		sets, ok := x.Near(lists)
		assert.Equal(t, ok, looks >= 0, text)
		if !ok {
			continue
		}
		found := map[string]int{}
		for pod := range Once(append(sets, sets...)) {
			found[pod]++
			assert.Equal(t, found[pod], 1, "%s for %q", pod, text)
		}
		assert.Equal(t, len(found), looks, "%v for %q", found, text)
		for pod, set := range of {
			assert.Assert(t, !selector.Matches(set) || found[pod] == 1, "%s for %q", pod, text)
		}
	}
	_, ok := Choices(labels.Nothing())
	assert.Assert(t, !ok)
	for pod, set := range of {
		for key, value := range set {
			x.Remove(Label{key, value}, types.UID(pod))
		}
	}
	assert.Equal(t, len(x), 0, fmt.Sprint(x))
}
