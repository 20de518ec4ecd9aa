package framework

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEvictionCost(t *testing.T) {
	for _, c := range []struct {
		annotations map[string]string
		want        int32
	}{
		{nil, 0},
		{map[string]string{AnnotationEvictionCost: "-7"}, -7},
		{map[string]string{KoordinatorEvictionCost: "2147483647"}, 1<<31 - 1},
		{map[string]string{AnnotationEvictionCost: "3", KoordinatorEvictionCost: "4"}, 3},
		{map[string]string{AnnotationEvictionCost: "much", KoordinatorEvictionCost: "4"}, 0},
		{map[string]string{AnnotationEvictionCost: "2147483648"}, 1<<31 - 1},
		{map[string]string{KoordinatorEvictionCost: "-99999999999999999999"}, -1 << 31},
		{map[string]string{AnnotationEvictionCost: "NaN"}, 0},
	} {
		assert.Equal(t, EvictionCost(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}}), c.want, "%v", c.annotations)
	}
}
