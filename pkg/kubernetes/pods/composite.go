package pods

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// CompositePodGroupResource is the resource that ReadCompositePodGroup understands, of Kubernetes 1.37.
var CompositePodGroupResource = schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1alpha3", Resource: "compositepodgroups"}

// ReadCompositePodGroup reads a composite pod group. Its MinCount is how many of the pod groups in it start together; 0 is that each starts
// by itself.
func ReadCompositePodGroup(object *unstructured.Unstructured) (PodGroup, error) {
	return groupKind{"CompositePodGroup", "composite pod group", []string{CompositePodGroupResource.Version}, "minGroupCount"}.read(object)
}

// ServedGroups are the resources that are to be read, of those that the API server serves and this program understands: the preferred one of
// pod groups, and that of composite ones. One is empty where there is none.
type ServedGroups struct{ PodGroups, Composites schema.GroupVersionResource }

// FindServedGroups asks the API server for them. Versions that it does not name are not asked for.
func FindServedGroups(of discovery.DiscoveryInterface) (found ServedGroups, err error) {
	all, err := of.ServerGroups()
	if err != nil {
		return ServedGroups{}, fmt.Errorf("whether there are pod groups: %w", err)
	}
	lists := map[string]*metav1.APIResourceList{}
	serves := func(resource schema.GroupVersionResource) (bool, error) {
		version := resource.GroupVersion().String()
		if !slices.ContainsFunc(all.Groups, func(g metav1.APIGroup) bool {
			return slices.ContainsFunc(g.Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.GroupVersion == version })
		}) {
			return false, nil
		}
		if lists[version] == nil {
			list, err := of.ServerResourcesForGroupVersion(version)
			switch {
			case apierrors.IsNotFound(err):
				list = new(metav1.APIResourceList) // it ceased to be served just now
			case err != nil:
				return false, fmt.Errorf("whether there are pod groups: %w", err)
			}
			lists[version] = list
		}
		return slices.ContainsFunc(lists[version].APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Resource }), nil
	}
	for _, resource := range PodGroupResources() {
		is, err := serves(resource)
		if err != nil {
			return ServedGroups{}, err
		}
		if is {
			found.PodGroups = resource
			break
		}
	}
	if is, err := serves(CompositePodGroupResource); err != nil {
		return ServedGroups{}, err
	} else if is {
		found.Composites = CompositePodGroupResource
	}
	return found, nil
}

// StartsAlone reports whether the pod groups of a composite one have nothing in common: each starts by itself, and anywhere.
func (g PodGroup) StartsAlone() bool { return g.MinCount == 0 && g.Require == "" }

// TagsIn is what a member says of its group where that is one of a composite one: the pod groups in it are subgroups of one group, of which
// as many start together as it says, each with its own minimum. What is common to all of them is said by the composite one.
func (g PodGroup) TagsIn(composite PodGroup) map[string]string {
	tags := composite.Tags()
	maps.Copy(tags, map[string]string{
		TagQuorum: composite.CompositeName(), TagQuorumLeast: strconv.Itoa(int(max(composite.MinCount, 1))),
		TagQuorumSubgroup: g.Name, TagQuorumSubgroupLeast: strconv.Itoa(int(max(g.MinCount, 1))), TagQuorumEach: g.Require,
	})
	return tags
}

// CompositeName is the name by which pods name a composite group: no pod group has the same.
func (g PodGroup) CompositeName() string { return g.Namespace + "/composite/" + g.Name }

// Composites are composite pod groups by namespace and name.
type Composites map[string]PodGroup

// Of is the composite group with whose other groups one starts; nil if it starts by itself. Why is why its pods wait. Trees of more levels are
// understood only where those above say nothing.
func (c Composites) Of(group PodGroup) (of *PodGroup, why string) {
	if group.Parent == "" {
		return nil, ""
	}
	composite, known := c[group.Namespace+"/"+group.Parent]
	if !known {
		return nil, fmt.Sprintf("its composite pod group %s does not exist, or is not understood", group.Parent)
	}
	if composite.Parent != "" {
		above, known := c[group.Namespace+"/"+composite.Parent]
		switch {
		case !known:
			return nil, fmt.Sprintf("composite pod group %s, which its composite pod group %s is in, does not exist, or is not understood", composite.Parent, composite.Name)
		case above.Parent != "" || !above.StartsAlone():
			return nil, fmt.Sprintf("composite pod group %s is in %s, which says how such groups start together: this is understood of pod groups only", composite.Name, above.Name)
		}
	}
	if composite.StartsAlone() {
		return nil, ""
	}
	return &composite, ""
}

// Tags are what a pod says of its group, with its completion index and its label LabelSubgroup; nil if it is scheduled by itself, or waits.
func (c Composites) Tags(group PodGroup, index, label string) map[string]string {
	composite, why := c.Of(group)
	switch {
	case why != "" || composite == nil && group.MinCount == 0:
		return nil
	case composite != nil:
		return group.TagsIn(*composite)
	}
	tags := group.Tags()
	tags[TagQuorumSubgroup] = group.SubgroupOf(index, label)
	return tags
}
