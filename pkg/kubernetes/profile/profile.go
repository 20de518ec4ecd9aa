// Package profile has the default profile of kube-scheduler, and reads its configuration, as far as it has a meaning for this
// scheduler: which filters and scores a profile has, their weights and arguments. One score is none of kube-scheduler's: LoadAware.
package profile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"sigs.k8s.io/yaml"
)

// Default is that of kube-scheduler if nothing is configured. Each call makes another one, which may be changed.
func Default() (*config.KubeSchedulerProfile, error) {
	all, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("default profile of kube-scheduler: %w", err)
	}
	return &all.Profiles[0], nil
}

// Read is the profile of the pods with one of some scheduler names, in a KubeSchedulerConfiguration of kube-scheduler, with all
// defaults filled in. If no profile names one of them, the only one is meant. Ignored says, one line each, what of the
// text has no meaning here and what has it in its place. The error says everything that is wrong, or that cannot be
// left out without pods running where they must not. OutOfTree are the names of plugins that are part of the program and none of
// kube-scheduler's; AnyPlugin has all others left out and told.
func Read(text []byte, schedulerNames []string, outOfTree ...string) (profile *config.KubeSchedulerProfile, ignored []string, err error) {
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	all, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, nil, fmt.Errorf("is a %s, not a KubeSchedulerConfiguration", object.GetObjectKind().GroupVersionKind().Kind)
	}
	if problems := validation.ValidateKubeSchedulerConfiguration(all); problems != nil {
		return nil, nil, problems
	}
	profile, err = chosen(all, schedulerNames)
	if err != nil {
		return nil, nil, err
	}
	lines := left(text, all, profile, outOfTree)
	if slices.Contains(outOfTree, AnyPlugin) {
		lines = append(lines, leaveOut(profile)...)
	}
	_, wrong := LoadAwareOf(profile)
	if err := errors.Join(unknown(profile, outOfTree), needed(all, profile), wrong); err != nil {
		return nil, nil, err
	}
	return profile, lines, nil
}

// chosen is the profile that is meant.
func chosen(all *config.KubeSchedulerConfiguration, schedulerNames []string) (*config.KubeSchedulerProfile, error) {
	var found []string
	for i := range all.Profiles {
		if slices.Contains(schedulerNames, all.Profiles[i].SchedulerName) {
			return &all.Profiles[i], nil
		}
		found = append(found, all.Profiles[i].SchedulerName)
	}
	if len(all.Profiles) == 1 {
		return &all.Profiles[0], nil
	}
	return nil, fmt.Errorf("profiles: there are those of %s, and none of %s", strings.Join(found, ", "), strings.Join(schedulerNames, ", "))
}

// needed is what keeps pods from nodes and is not done here.
func needed(all *config.KubeSchedulerConfiguration, profile *config.KubeSchedulerProfile) error {
	var problems []error
	for i := range all.Extenders {
		if extender := &all.Extenders[i]; !extender.Ignorable {
			problems = append(problems, fmt.Errorf("extenders: %s is not asked; say ignorable: true if pods may run without its agreement", extender.URLPrefix))
		}
	}
	for i := range profile.PluginConfig {
		args, ok := profile.PluginConfig[i].Args.(*config.PodTopologySpreadArgs)
		if !ok {
			continue
		}
		for _, constraint := range args.DefaultConstraints {
			if constraint.WhenUnsatisfiable == v1.DoNotSchedule {
				problems = append(problems, fmt.Errorf(
					"pluginConfig: PodTopologySpread: default constraint on %s: DoNotSchedule is not kept for pods that do not say so; use ScheduleAnyway, or constraints in the pods", constraint.TopologyKey))
			}
		}
	}
	return errors.Join(problems...)
}

// The fields that have no meaning here, and what has it in their place.
var ofAll = map[string]string{
	"parallelism":               "the filters run on as many goroutines as there are processors",
	"leaderElection":            "flags --leader-elect… say this",
	"clientConnection":          "flags --kubeconfig and --kube-api-… say this",
	"percentageOfNodesToScore":  "all nodes with room for a pod are compared",
	"podInitialBackoffSeconds":  "pods are tried again when something changes that may help",
	"podMaxBackoffSeconds":      "pods are tried again when something changes that may help",
	"extenders":                 "extenders are not asked",
	"enableProfiling":           "flag --debug-listen says this",
	"enableContentionProfiling": "flag --debug-listen says this",
	"delayCacheUntilActive":     "a standby has the cluster in memory",
}

var ofPlugins = map[string]string{
	"queueSort":  "the queue configuration says which pod is next",
	"preEnqueue": "gates of pods are kept, and nothing else holds pods back",
	"postFilter": "the queue configuration says what is preempted",
	"permit":     "nothing but plugins that are compiled in holds pods back after the choice of a node",
	"bind":       "pods are bound by the scheduler itself",
	"postBind":   "nothing but plugins that are compiled in is told of bindings",
	"preScore":   "scores of kube-scheduler are worked out in another way",
}

// ofScores are the score plugins for which something else stands.
var ofScores = map[string]string{
	names.NodeResourcesFit:                "how resources score: the order of nodes of the partition (nodesortpolicy) says this, with the plugin's weight",
	names.NodeResourcesBalancedAllocation: "the order of nodes of the partition (nodesortpolicy) says this",
	names.VolumeBinding:                   "how volumes score: they do not count",
	names.DefaultPreemption:               "the queue configuration says what is preempted",
}

// left is what of the text has no meaning here.
func left(text []byte, all *config.KubeSchedulerConfiguration, profile *config.KubeSchedulerProfile, outOfTree []string) (lines []string) {
	var said struct {
		Profiles []struct {
			SchedulerName string         `json:"schedulerName"`
			Percentage    *int32         `json:"percentageOfNodesToScore"`
			Plugins       map[string]any `json:"plugins"`
			PluginConfig  []struct {
				Name string `json:"name"`
			} `json:"pluginConfig"`
		} `json:"profiles"`
	}
	fields := map[string]any{}
	if yaml.Unmarshal(text, &fields) != nil || yaml.Unmarshal(text, &said) != nil {
		return nil // it was read before
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if instead := ofAll[field]; instead != "" {
			lines = append(lines, fmt.Sprintf("%s: %s", field, instead))
		}
	}
	for i := range said.Profiles {
		of := &said.Profiles[i]
		if &all.Profiles[i] != profile {
			lines = append(lines, fmt.Sprintf("profile %s: one profile is used, that of %s", all.Profiles[i].SchedulerName, profile.SchedulerName))
			continue
		}
		if of.Percentage != nil {
			lines = append(lines, "percentageOfNodesToScore: "+ofAll["percentageOfNodesToScore"])
		}
		for _, point := range slices.Sorted(maps.Keys(of.Plugins)) {
			if instead := ofPlugins[point]; instead != "" && !areAsked(point, profile.Plugins, outOfTree) {
				lines = append(lines, fmt.Sprintf("plugins: %s: %s", point, instead))
			}
		}
		for _, args := range of.PluginConfig {
			if instead := ofScores[args.Name]; instead != "" {
				lines = append(lines, fmt.Sprintf("pluginConfig: %s: %s", args.Name, instead))
			}
		}
	}
	return append(lines, weights(profile)...)
}

// weights are those that were set of scores for which something else stands.
func weights(profile *config.KubeSchedulerProfile) (lines []string) {
	for _, plugin := range profile.Plugins.Score.Enabled {
		if instead := ofScores[plugin.Name]; instead != "" && plugin.Name != names.NodeResourcesFit {
			lines = append(lines, fmt.Sprintf("plugins: score: %s: %s", plugin.Name, instead))
		}
	}
	return lines
}
