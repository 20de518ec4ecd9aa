package controllers

import (
	"cmp"
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// gangOf is the gang of a pod: an application whose pods name task groups, or a pod group. Empty of another one.
func gangOf(pod *v1.Pod) string {
	switch group := pods.GroupName(pod); {
	case group == "":
		return ""
	case pod.Annotations[pods.AnnotationTaskGroup] == "":
		return pod.Namespace + "/pod group/" + group
	}
	return pods.ApplicationGroup(pod.Namespace, pods.ApplicationID(pod))
}

// membersOf are the pods of a gang on all nodes, and those that say how many pods its groups need.
func (t *turn) membersOf(gang string) []*v1.Pod {
	if t.gangs == nil {
		t.gangs = map[string][]*v1.Pod{}
		for _, pod := range t.snapshot.Pods() {
			of := gangOf(pod)
			if of == "" && pod.Annotations[pods.AnnotationTaskGroups] != "" {
				of = pods.ApplicationGroup(pod.Namespace, pods.ApplicationID(pod))
			}
			if of != "" {
				t.gangs[of] = append(t.gangs[of], pod)
			}
		}
	}
	return t.gangs[gang]
}

// evictGang has the members of a gang evicted that are to leave one node: all of them, or, if one of them has to stay, as
// many as leave the gang what must run, which may be none.
func (t *turn) evictGang(ctx context.Context, d *draining, gang string, members []*v1.Pod, outcomes map[*v1.Pod]outcome) {
	because := ""
	for _, pod := range members {
		if o := t.keeps(d, pod); o.why != "" {
			outcomes[pod] = o
			because = cmp.Or(because, staysBecause(pod, o))
		}
	}
	if because == "" {
		because = t.evictTogether(ctx, d, members, outcomes)
	}
	for _, pod := range members {
		if _, known := outcomes[pod]; known {
			continue
		}
		if needs, runs := t.quorum(gang, pod); runs <= needs {
			outcomes[pod] = outcome{why: fmt.Sprintf("its gang needs %d pods and has %d, and %s", needs, runs, because)}
			continue
		}
		outcomes[pod] = t.evict(ctx, d, pod)
	}
}

func staysBecause(pod *v1.Pod, o outcome) string {
	return fmt.Sprintf("pod %s of its gang stays: %s", pod.Name, o.why)
}

// evictTogether tries to have all evicted, and says why not all can be.
func (t *turn) evictTogether(ctx context.Context, d *draining, members []*v1.Pod, outcomes map[*v1.Pod]outcome) (because string) {
	if len(members) == 1 {
		outcomes[members[0]] = t.evict(ctx, d, members[0])
		return ""
	}
	together, ok := t.handle.Evictor().(framework.GroupEvictor)
	if !ok {
		return "its pods go one by one"
	}
	kept := together.EvictTogether(ctx, members, framework.EvictOptions{Reason: d.problem.reason})
	for _, pod := range members {
		err, stays := kept[pod.UID]
		if stays && err == nil {
			continue
		}
		outcomes[pod] = t.outcomeOf(d, pod, err)
		if stays {
			because = cmp.Or(because, staysBecause(pod, outcomes[pod]))
		}
	}
	return cmp.Or(because, t.handle.Evictor().Name()+" moves one pod at a time")
}

// quorum is how many pods must run of the group of a gang to which a pod belongs, and how many do. Where that is not known, all
// must.
func (t *turn) quorum(gang string, pod *v1.Pod) (needs, runs int) {
	group := pods.GroupName(pod)
	for _, member := range t.membersOf(gang) {
		if pods.GroupName(member) == group && member.Status.Phase == v1.PodRunning && member.DeletionTimestamp == nil &&
			!pods.IsPlaceholder(member) && !t.snapshot.WasEvicted(member.UID) {
			runs++
		}
	}
	key := gang + "/" + group
	if _, known := t.minimum[key]; !known {
		if t.minimum == nil {
			t.minimum = map[string]int{}
		}
		t.minimum[key] = t.minimumOf(gang, pod)
	}
	if needs = t.minimum[key]; needs == 0 {
		needs = runs
	}
	return needs, runs
}

// readMax is how many pods of a gang are read for what its groups need. They say the same, unless a tenant has them differ.
const readMax = 10

// minimumOf is how many pods must run of a group; 0 if that is not known.
func (t *turn) minimumOf(gang string, pod *v1.Pod) int {
	group := pods.GroupName(pod)
	if pod.Annotations[pods.AnnotationTaskGroup] == "" {
		t.kept.polls = true
		of, _ := t.snapshot.PodGroup(pod)
		return int(of.MinCount)
	}
	read := 0
	for _, member := range t.membersOf(gang) {
		if member.Annotations[pods.AnnotationTaskGroups] == "" {
			continue
		}
		if read++; read > readMax {
			break
		}
		app, _ := pods.Rules{}.ApplicationOf(member, nil)
		for _, g := range app.TaskGroups {
			if g.Name == group {
				return int(g.MinMember)
			}
		}
	}
	return 0
}
