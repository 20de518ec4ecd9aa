package feasibility

import (
	"context"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/kubernetes/pkg/features"
)

// A deviceCount knows how many devices serve extended resources on each node. It is worked out when it is asked for
// after something has changed; of slices that have not, what was found before holds.
type deviceCount struct {
	mu      sync.Mutex
	changed bool
	classes resourcelisters.DeviceClassLister
	known   map[string]sliceCount
	onNode  map[string]map[string]int64 // by node, then by resource; the empty node is all
}

// A sliceCount is what was found of a slice as it was.
type sliceCount struct {
	slice  *resourcev1.ResourceSlice
	onNode map[string]map[string]int64
}

// note takes in that slices have changed, or also classes.
func (d *deviceCount) note(classes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changed = true
	if classes {
		clear(d.known)
	}
}

// Devices is how many devices a node has of each extended resource that device classes serve. What nodes have
// themselves of such a resource is not among them. Devices that several nodes can use count on each, and such as are
// taken count too. It is empty if devices serve none.
func (c *Checker) Devices(node string) map[string]int64 {
	d := c.devices
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed {
		slices, err := c.slices.ListPatchedResourceSlices()
		if err != nil {
			return nil
		}
		d.count(slices)
	}
	shared := d.onNode[""]
	if len(shared) == 0 {
		return d.onNode[node]
	}
	all := maps.Clone(shared)
	addCounts(all, d.onNode[node])
	return all
}

// count works out everything from the slices there are.
func (d *deviceCount) count(list []*resourcev1.ResourceSlice) {
	classes, err := d.classes.List(labels.Everything())
	if err != nil {
		return
	}
	before := d.known
	d.known, d.onNode, d.changed = make(map[string]sliceCount, len(list)), map[string]map[string]int64{}, false
	var matchers []matcher // made when they are needed
	for _, slice := range list {
		counted := before[slice.Name]
		if counted.slice != slice {
			if matchers == nil {
				matchers = matchersOf(classes)
			}
			counted = sliceCount{slice, countSlice(slice, matchers)}
		}
		d.known[slice.Name] = counted
		for node, counts := range counted.onNode {
			if d.onNode[node] == nil {
				d.onNode[node] = map[string]int64{}
			}
			addCounts(d.onNode[node], counts)
		}
	}
}

func addCounts(to, from map[string]int64) {
	for name, count := range from {
		to[name] += count
	}
}

// A matcher finds the devices of a class, which serves resources.
type matcher struct {
	resources []string
	selectors []cel.CompilationResult
}

// matchersOf are those of classes. One with a selector that cannot be read has none, as no device is given of it.
func matchersOf(classes []*resourcev1.DeviceClass) []matcher {
	enabled := utilfeature.DefaultFeatureGate.Enabled
	compiler := cel.GetCompiler(cel.Features{
		EnableConsumableCapacity: enabled(features.DRAConsumableCapacity), EnableListTypeAttributes: enabled(features.DRAListTypeAttributes),
	})
	all := []matcher{}
	for _, class := range classes {
		m := matcher{resources: []string{resourcev1.ResourceDeviceClassPrefix + class.Name}}
		if name := class.Spec.ExtendedResourceName; name != nil {
			m.resources = append(m.resources, *name)
		}
		for _, selector := range class.Spec.Selectors {
			if selector.CEL != nil {
				m.selectors = append(m.selectors, compiler.CompileCELExpression(selector.CEL.Expression, cel.Options{DisableCostEstimation: true}))
			}
		}
		if !slices.ContainsFunc(m.selectors, func(s cel.CompilationResult) bool { return s.Error != nil }) {
			all = append(all, m)
		}
	}
	return all
}

// takes says whether a device is of the class.
func (m *matcher) takes(slice *resourcev1.ResourceSlice, device *resourcev1.Device) bool {
	of := cel.Device{
		Driver: slice.Spec.Driver, AllowMultipleAllocations: device.AllowMultipleAllocations, Attributes: device.Attributes, Capacity: device.Capacity,
	}
	return !slices.ContainsFunc(m.selectors, func(s cel.CompilationResult) bool {
		matches, _, err := s.DeviceMatches(context.Background(), of)
		return err != nil || !matches
	})
}

// countSlice counts the devices of a slice for the nodes that can use them.
func countSlice(slice *resourcev1.ResourceSlice, matchers []matcher) map[string]map[string]int64 {
	onNode := map[string]map[string]int64{}
	for i := range slice.Spec.Devices {
		device := &slice.Spec.Devices[i]
		node := "" // all, or some by their labels
		switch {
		case slice.Spec.NodeName != nil:
			node = *slice.Spec.NodeName
		case device.NodeName != nil:
			node = *device.NodeName
		}
		for j := range matchers {
			if !matchers[j].takes(slice, device) {
				continue
			}
			if onNode[node] == nil {
				onNode[node] = map[string]int64{}
			}
			for _, name := range matchers[j].resources {
				onNode[node][name]++
			}
		}
	}
	return onNode
}

// servedByDevices says whether a device class serves an extended resource, so that nodes
// need none of it.
func (c *Checker) servedByDevices(name v1.ResourceName) bool {
	return c.extended != nil && c.extended.GetDeviceClass(name) != nil
}

// usesDevices says whether a pod has claims of devices, or will have one for an extended resource.
func (c *Checker) usesDevices(pod *v1.Pod) bool {
	return len(pod.Spec.ResourceClaims) > 0 || pod.Status.ExtendedResourceClaimStatus != nil || requestsAny(pod, c.servedByDevices)
}
