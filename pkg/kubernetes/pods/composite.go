package pods

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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

// TagsIn is what a member says of its group where that is in composite ones, the top one first: what is in that are subgroups of one group, of
// which as many start together as it says, each with as many of its own parts as it says, and pod groups with their minimum. What is common to
// all of them is said by the top one.
func (g PodGroup) TagsIn(composites ...PodGroup) map[string]string {
	top, below := composites[0], slices.Concat(composites[1:], []PodGroup{g})
	tags := top.Tags()
	maps.Copy(tags, map[string]string{
		TagQuorum: top.CompositeName(), TagQuorumLeast: top.starts(),
		TagQuorumSubgroup: g.SubgroupIn(composites...), TagQuorumSubgroupLeast: joined(below, "/", PodGroup.starts),
		TagQuorumEach: strings.TrimRight(joined(below, ",", func(of PodGroup) string { return of.Require }), ","),
	})
	return tags
}

// SubgroupIn is the subgroup that a group is in composite ones, the top one first.
func (g PodGroup) SubgroupIn(composites ...PodGroup) string {
	return joined(slices.Concat(composites[1:], []PodGroup{g}), "/", func(of PodGroup) string { return of.Name })
}

// starts is how many of what is in a group start together, at least one.
func (g PodGroup) starts() string { return strconv.Itoa(int(max(g.MinCount, 1))) }

// joined is what is said of groups that are one in the other.
func joined(groups []PodGroup, by string, says func(PodGroup) string) string {
	texts := make([]string, len(groups))
	for i, of := range groups {
		texts[i] = says(of)
	}
	return strings.Join(texts, by)
}

// CompositeName is the name by which pods name a composite group: no pod group has the same.
func (g PodGroup) CompositeName() string { return g.Namespace + "/composite/" + g.Name }

// compositesMax is in how many composite pod groups, one in the other, a pod group may be.
const compositesMax = 4

// Composites are composite pod groups by namespace and name.
type Composites map[string]PodGroup

// Of are the composite groups that a pod group is in, the top one first, as far as they say how others start with it; none if it starts by itself. Why
// is why its pods wait.
func (c Composites) Of(group PodGroup) (above []PodGroup, why string) {
	for at := group; at.Parent != ""; {
		of, known := c[group.Namespace+"/"+at.Parent]
		switch {
		case !known:
			return nil, fmt.Sprintf("%s does not exist, or is not understood", named(group, at))
		case len(above) == compositesMax:
			return nil, fmt.Sprintf("it is in more than %d composite pod groups, one in the other, or in a circle of them", compositesMax)
		}
		above, at = append(above, of), of
	}
	for len(above) > 0 && above[len(above)-1].StartsAlone() {
		above = above[:len(above)-1]
	}
	slices.Reverse(above)
	return above, ""
}

// named names the composite group that one of those is in which a pod group is in, or the pod group itself.
func named(group, at PodGroup) string {
	if at.Parent == group.Parent {
		return "its composite pod group " + at.Parent
	}
	return fmt.Sprintf("composite pod group %s, which its composite pod group %s is in,", at.Parent, at.Name)
}

// Tags are what a pod says of its group, with its completion index and its label LabelSubgroup; nil if it is scheduled by itself, or waits.
func (c Composites) Tags(group PodGroup, index, label string) map[string]string {
	above, why := c.Of(group)
	switch {
	case why != "" || len(above) == 0 && group.MinCount == 0:
		return nil
	case len(above) > 0:
		return group.TagsIn(above...)
	}
	tags := group.Tags()
	tags[TagQuorumSubgroup] = group.SubgroupOf(index, label)
	return tags
}
