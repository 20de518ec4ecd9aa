// Package example is a plugin of the descheduler as one outside of this project is written:
// it imports package framework, and a main of its own hands it to command.Main:
//
//	func main() { os.Exit(command.Main(example.Definition())) }
//
// The plugin evicts pods on the day that an annotation of theirs names.
package example

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// Name is the name of the plugin in policies.
const Name = "RemovePodsPastDate"

// Args are the arguments. Keys are those of the json tags.
type Args struct {
	// Annotation is the one that names the day, as 2006-01-02.
	Annotation string `json:"annotation"`
	// Namespaces are where it looks; none is everywhere.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Definition is the plugin for a registry.
func Definition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   Name,
		Points: []framework.Point{framework.Deschedule},
		Args:   func() any { return &Args{Annotation: "example.org/remove-after"} },
	}, validate, func(args *Args, handle framework.Handle) (framework.Plugin, error) {
		return &plugin{args, handle}, nil
	})
}

func validate(args *Args) error {
	if args.Annotation == "" {
		return errors.New("annotation: must not be empty")
	}
	return nil
}

type plugin struct {
	args   *Args
	handle framework.Handle
}

var _ framework.DeschedulePlugin = (*plugin)(nil)

// Name implements framework.Plugin.
func (*plugin) Name() string { return Name }

// Deschedule implements framework.DeschedulePlugin. All that it knows of the cluster and of
// the time is from the snapshot, so equal input gives equal evictions.
func (p *plugin) Deschedule(ctx context.Context, nodes []*v1.Node) *framework.Status {
	s, evictor := p.handle.Snapshot(), p.handle.Evictor()
	for _, node := range nodes {
	pods:
		for _, pod := range s.PodsOn(node.Name) {
			day, due := p.due(pod, s.Now())
			if !due || !evictor.Filter(pod) {
				continue
			}
			err := evictor.EvictPod(ctx, pod, framework.EvictOptions{Reason: fmt.Sprintf("its day was %s", day)})
			switch framework.StopAfter(err) {
			case framework.StopPlugin:
				return nil
			case framework.StopNode:
				break pods
			}
		}
	}
	return nil
}

// due says whether the day of a pod is over.
func (p *plugin) due(pod *v1.Pod, now time.Time) (day string, due bool) {
	day = pod.Annotations[p.args.Annotation]
	end, err := time.ParseInLocation(time.DateOnly, day, time.UTC)
	return day, err == nil && now.After(end.AddDate(0, 0, 1)) && p.looksAt(pod.Namespace)
}

func (p *plugin) looksAt(namespace string) bool {
	if slices.Contains(p.args.Namespaces, namespace) {
		return true
	}
	return len(p.args.Namespaces) == 0
}
