package pods

import (
	"cmp"
	"maps"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
)

// LabelPartition is the label of a node that names its partition.
const LabelPartition = common.NodePartition

// NodeResources are what pods may take on a node: what is allocatable.
func NodeResources(node *v1.Node) *si.Resource { return Amounts(node.Status.Allocatable) }

// NodeInfo is a node and what happens to it.
func NodeInfo(node *v1.Node, action si.NodeInfo_ActionFromRM) *si.NodeInfo {
	return &si.NodeInfo{
		NodeID:              node.Name,
		Action:              action,
		Attributes:          Attributes(node),
		SchedulableResource: NodeResources(node),
	}
}

// attributeReady says, with "false", that a node is not ready, so that the core does not wait
// for what is to end there.
const attributeReady = "ready"

// readiness is "false" for a node that says that it is not ready, or says nothing any more.
func readiness(node *v1.Node) string {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady && c.Status != v1.ConditionTrue {
			return "false"
		}
	}
	return ""
}

// Attributes are the labels of a node, since a group may require one domain of any of them, its taints, and what the core knows by
// other names. A label without a value makes no domain.
func Attributes(node *v1.Node) map[string]string {
	labels := node.Labels
	all := make(map[string]string, len(labels)+9)
	maps.Copy(all, labels)
	maps.Copy(all, map[string]string{
		common.HostName:            cmp.Or(labels[v1.LabelHostname], node.Name),
		common.RackName:            cmp.Or(labels["topology.kubernetes.io/rack"], "/rack-default"),
		common.InstanceType:        cmp.Or(labels[v1.LabelInstanceTypeStable], labels[v1.LabelInstanceType]),
		common.FailureDomainZone:   cmp.Or(labels[v1.LabelTopologyZone], labels[v1.LabelFailureDomainBetaZone]),
		common.FailureDomainRegion: cmp.Or(labels[v1.LabelTopologyRegion], labels[v1.LabelFailureDomainBetaRegion]),
		common.ARCH:                cmp.Or(labels[v1.LabelArchStable], node.Status.NodeInfo.Architecture),
		common.OS:                  cmp.Or(labels[v1.LabelOSStable], node.Status.NodeInfo.OperatingSystem),
		common.NodePartition:       labels[LabelPartition],
		attributeReady:             readiness(node),
	})
	for _, t := range node.Spec.Taints {
		if t.Effect != v1.TaintEffectPreferNoSchedule && !isState(t.Key) {
			all[attributeTaint+t.Key] = valueOfTaint(t.Value)
		}
	}
	for name, value := range all {
		if value == "" {
			delete(all, name)
		}
	}
	return all
}
