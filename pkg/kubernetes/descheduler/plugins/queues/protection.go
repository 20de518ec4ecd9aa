package queues

import (
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// ProtectionName is the name of the plugin QueueProtection in policies.
const ProtectionName = "QueueProtection"

// ProtectionArgs are the arguments of QueueProtection.
type ProtectionArgs struct {
	// Guarantees keeps pods without which a queue uses less than it is guaranteed.
	Guarantees bool `json:"guarantees"`
	// Gangs keeps pods whose gang would have fewer members than it needs.
	Gangs bool `json:"gangs"`
}

// Protection is the plugin QueueProtection: a pre-eviction filter that keeps the
// guarantees of queues, and gangs whole. A pod that Kubernetes has in a pod group counts as
// needed: how many it needs stands in the group.
type Protection struct {
	args   ProtectionArgs
	handle framework.Handle

	mu       sync.Mutex
	snapshot *framework.Snapshot // of which gangs are known
	gangs    map[gangKey]*gang
}

var _ framework.PreEvictionFilterPlugin = (*Protection)(nil)

// gangKey names a task group of an application.
type gangKey struct{ namespace, application, group string }

// A gang is the pods of a task group.
type gang struct {
	needed  int32 // zero if no pod says so
	members []*v1.Pod
}

// protectionDefinition is QueueProtection in a registry.
func protectionDefinition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   ProtectionName,
		Points: []framework.Point{framework.PreEvictionFilter},
		Args:   func() any { return &ProtectionArgs{Guarantees: true, Gangs: true} },
	}, nil, func(a *ProtectionArgs, handle framework.Handle) (framework.Plugin, error) {
		return &Protection{args: *a, handle: handle}, nil
	})
}

// Name is the name in the registry.
func (p *Protection) Name() string { return ProtectionName }

// PreEvictionFilter returns why a guarantee or a gang needs the pod, or nil.
func (p *Protection) PreEvictionFilter(pod *v1.Pod) error {
	if err := p.guaranteeNeeds(pod); err != nil {
		return err
	}
	return p.gangNeeds(pod)
}

// guaranteeNeeds returns why the guarantee of a queue keeps the pod, or nil.
func (p *Protection) guaranteeNeeds(pod *v1.Pod) error {
	queues, ok := p.handle.Landing().(framework.Queues)
	if !p.args.Guarantees || !ok {
		return nil
	}
	short, ok := queues.ShortWithout(pod)
	if !ok {
		return nil
	}
	return fmt.Errorf("without it queue %s would use %d of the %d of %s that it is guaranteed", short.Queue, short.Used, short.Guaranteed, short.Kind)
}

// gangNeeds returns why the gang of the pod needs it, or nil.
func (p *Protection) gangNeeds(pod *v1.Pod) error {
	group := pods.GroupName(pod)
	if !p.args.Gangs || group == "" {
		return nil
	}
	if pod.Annotations[pods.AnnotationTaskGroup] == "" {
		return fmt.Errorf("the pod is a member of pod group %s", group)
	}
	g := p.gangOf(pod, group)
	if g.needed == 0 {
		return fmt.Errorf("the pod is a member of task group %s, of which no pod says how many members it needs", group)
	}
	running := int32(0)
	snapshot := p.handle.Snapshot()
	for _, member := range g.members {
		if pods.IsBound(member) && !pods.IsTerminal(member) && member.DeletionTimestamp == nil && !snapshot.WasEvicted(member.UID) {
			running++
		}
	}
	if running > g.needed {
		return nil
	}
	return fmt.Errorf("task group %s needs %d members and has %d", group, g.needed, running)
}

// gangOf is the gang of a pod. The gangs of a snapshot are found once.
func (p *Protection) gangOf(pod *v1.Pod, group string) *gang {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.handle.Snapshot(); p.snapshot != s {
		p.snapshot, p.gangs = s, gangsOf(s)
	}
	if g := p.gangs[keyOf(pod, group)]; g != nil {
		return g
	}
	return &gang{} // the pod came after the snapshot
}

// gangsOf is all task groups of a snapshot.
func gangsOf(s *framework.Snapshot) map[gangKey]*gang {
	gangs := map[gangKey]*gang{}
	find := func(key gangKey) *gang {
		if gangs[key] == nil {
			gangs[key] = &gang{}
		}
		return gangs[key]
	}
	for _, pod := range s.Pods() {
		// What cannot be read needs no members; a member of it is kept all the same.
		app, _ := pods.Rules{}.ApplicationOf(pod, nil)
		for _, group := range app.TaskGroups {
			g := find(keyOf(pod, group.Name))
			g.needed = max(g.needed, group.MinMember)
		}
		if group := pod.Annotations[pods.AnnotationTaskGroup]; group != "" {
			g := find(keyOf(pod, group))
			g.members = append(g.members, pod)
		}
	}
	return gangs
}

func keyOf(pod *v1.Pod, group string) gangKey {
	return gangKey{pod.Namespace, pods.ApplicationID(pod), group}
}
