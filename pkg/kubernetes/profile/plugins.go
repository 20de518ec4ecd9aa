package profile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
)

// AnyPlugin stands for all plugins that are not part of the program.
const AnyPlugin = "*"

// points are the lists of plugins of a profile that mean something here.
func points(of *config.Plugins) (scores, others []*config.PluginSet) {
	return []*config.PluginSet{&of.MultiPoint, &of.Score}, []*config.PluginSet{
		&of.PreFilter, &of.Filter, &of.PreScore, &of.Reserve, &of.Permit, &of.PreBind, &of.PostBind,
	}
}

// unknown is the plugins that are not part of this program.
func unknown(profile *config.KubeSchedulerProfile, outOfTree []string) error {
	known := slices.Concat(slices.Collect(maps.Keys(plugins.NewInTreeRegistry())), outOfTree)
	slices.Sort(known)
	var problems []error
	scores, others := points(profile.Plugins)
	for _, point := range slices.Concat(scores, others) {
		for _, plugin := range point.Enabled {
			if plugin.Name == LoadAware && slices.Contains(scores, point) || slices.Contains(known, plugin.Name) {
				continue
			}
			problems = append(problems, fmt.Errorf("plugins: %s is none of kube-scheduler's, and is not compiled in: there are %s", plugin.Name, strings.Join(known, ", ")))
		}
	}
	return errors.Join(problems...)
}

// leaveOut takes the plugins out of a profile that are not part of this program, and says so.
func leaveOut(profile *config.KubeSchedulerProfile) (lines []string) {
	known := plugins.NewInTreeRegistry()
	scores, others := points(profile.Plugins)
	for _, point := range slices.Concat(scores, others) {
		point.Enabled = slices.DeleteFunc(point.Enabled, func(plugin config.Plugin) bool {
			if known[plugin.Name] != nil || plugin.Name == LoadAware && slices.Contains(scores, point) {
				return false
			}
			line := fmt.Sprintf("plugins: %s is not part of this program, and does not count", plugin.Name)
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
			return true
		})
	}
	return lines
}

// areAsked reports whether all plugins that are named at a point are some that are compiled in, which are asked there.
func areAsked(name string, of *config.Plugins, outOfTree []string) bool {
	point := map[string]*config.PluginSet{"preScore": &of.PreScore, "permit": &of.Permit, "postBind": &of.PostBind}[name]
	if point == nil {
		return false
	}
	for _, plugin := range slices.Concat(point.Enabled, point.Disabled) {
		if !slices.Contains(outOfTree, plugin.Name) {
			return false
		}
	}
	return true
}
