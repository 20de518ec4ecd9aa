package landing

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// BenchmarkCycle is a cluster of 5,000 nodes and 100,000 pods: one Sync, and one Book.
func BenchmarkCycle(b *testing.B) {
	list := make([]*v1.Node, 5000)
	var all []*v1.Pod
	for i := range list {
		list[i] = nodes(1)[0]
		list[i].Name = fmt.Sprintf("node-%d", i)
		list[i].Labels = map[string]string{v1.LabelHostname: list[i].Name}
		list[i].Status.Allocatable[v1.ResourceCPU] = resource.MustParse("64")
		for k := range 20 {
			all = append(all, pod(fmt.Sprintf("p-%d-%d", i, k), list[i].Name, 1+int64(k%3), func(p *v1.Pod) {
				p.Labels["app"] = fmt.Sprint("app", k%10)
			}))
		}
	}
	c := cluster(b, ours, list, all...)
	s := snapshot(list, all...)
	b.Run("sync", func(b *testing.B) {
		for b.Loop() {
			c.Sync(s)
		}
	})
	b.Run("book", func(b *testing.B) {
		c.Sync(s)
		i := 0
		for b.Loop() {
			if i == len(all) {
				b.StopTimer()
				c.Sync(s)
				i = 0
				b.StartTimer()
			}
			if _, err := c.book(all[i]); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
}
