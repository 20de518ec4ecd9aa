package preferences

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// A Profile is what pods prefer, and how much.
type Profile struct {
	Weights
	// Constraints are the spread constraints of pods that have none, if a service or controller selects them.
	// They have no selector of their own.
	Constraints []v1.TopologySpreadConstraint
	// AllPlaces says that a node which lacks a topology of Constraints has no points. It always is so for
	// constraints of a pod.
	AllPlaces bool
	// Nodes are preferred by every pod.
	Nodes []v1.PreferredSchedulingTerm
	// RequiredWeight is what a pod that requires the company of another one counts for such a one, from 0 to 100.
	RequiredWeight int64
	// IgnoreOthers says that what other pods prefer counts only for a pod that has preferred affinity or
	// anti-affinity itself.
	IgnoreOthers bool
	// Load are the arguments of LoadAware; nil if the measured use of nodes does not count.
	Load *profile.LoadAwareArgs
}

// Weights say how much each preference counts. Each gives a node 0 to 100 points, which are
// multiplied by its weight, from 0 (it does not count) to 100.
type Weights struct {
	Order       int64 // the order of nodes of the partition, as binpacking
	NodeTaints  int64 // taints with the effect PreferNoSchedule
	NodeLabels  int64 // preferred node affinity
	Spread      int64 // spread constraints with ScheduleAnyway, and default ones
	PodAffinity int64 // preferred affinity and anti-affinity to pods
	Images      int64 // images of the pod that are on the node
	Load        int64 // measured use
	Devices     int64 // the alternatives of claims of devices
}

// pointsMax is what the best node gets for one preference.
const pointsMax = 100

// systemConstraints are those that kube-scheduler has for pods without any.
var systemConstraints = []v1.TopologySpreadConstraint{
	{TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway, MaxSkew: 3},
	{TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway, MaxSkew: 5},
}

// ProfileOf is what a profile of kube-scheduler with all defaults filled in says of preferences. The order of nodes counts as
// its plugin for resources does. What it says else is left out.
func ProfileOf(of *config.KubeSchedulerProfile) Profile {
	p := Profile{
		Weights: Weights{
			Order:       weightOf(of.Plugins, names.NodeResourcesFit),
			NodeTaints:  weightOf(of.Plugins, names.TaintToleration),
			NodeLabels:  weightOf(of.Plugins, names.NodeAffinity),
			Spread:      weightOf(of.Plugins, names.PodTopologySpread),
			PodAffinity: weightOf(of.Plugins, names.InterPodAffinity),
			Images:      weightOf(of.Plugins, names.ImageLocality),
			Load:        weightOf(of.Plugins, profile.LoadAware),
			Devices:     weightOf(of.Plugins, names.DynamicResources),
		},
		Constraints: systemConstraints,
	}
	if p.Weights.Load > 0 {
		p.Load, _ = profile.LoadAwareOf(of) // package profile refuses what is wrong when it reads it
	}
	for i := range of.PluginConfig {
		switch args := of.PluginConfig[i].Args.(type) {
		case *config.PodTopologySpreadArgs:
			if args.DefaultingType == config.ListDefaulting {
				p.Constraints, p.AllPlaces = args.DefaultConstraints, true
			}
		case *config.NodeAffinityArgs:
			if args.AddedAffinity != nil {
				p.Nodes = args.AddedAffinity.PreferredDuringSchedulingIgnoredDuringExecution
			}
		case *config.InterPodAffinityArgs:
			p.RequiredWeight, p.IgnoreOthers = int64(args.HardPodAffinityWeight), args.IgnorePreferredTermsOfExistingPods
		}
	}
	return p
}

// weightOf is how much a score plugin counts: what is said of scores goes before what is said of all it does.
func weightOf(plugins *config.Plugins, name string) int64 {
	for _, said := range plugins.Score.Enabled {
		if said.Name == name {
			return max(int64(said.Weight), 1)
		}
	}
	for _, said := range plugins.Score.Disabled {
		if said.Name == name || said.Name == "*" {
			return 0
		}
	}
	for _, said := range plugins.MultiPoint.Enabled {
		if said.Name == name {
			return max(int64(said.Weight), 1)
		}
	}
	return 0
}
