package plugins_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/queues"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// handle is one of which only the snapshot and the shares are used.
type handle struct {
	framework.Handle
	snapshot *framework.Snapshot
	shares
}

func (h *handle) Snapshot() *framework.Snapshot { return h.snapshot }
func (h *handle) Landing() framework.Landing    { return h.shares }

// shares are those of queues by the name of a pod.
type shares map[string]framework.QueueShare

func (s shares) Place(*v1.Pod, framework.Choice) (p framework.Place, err error) {
	return p, nil
}
func (s shares) Book(*v1.Pod, string) error { return nil }
func (s shares) ShareOf(pod *v1.Pod) (framework.QueueShare, bool) {
	share, ok := s[pod.Name]
	return share, ok
}

func (s shares) ShortWithout(pod *v1.Pod) (framework.QueueShare, bool) {
	share, ok := s[pod.Name]
	return share, ok && share.Used < share.Guaranteed
}

func member(name, group string, edits ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: types.UID(name),
			Labels:      map[string]string{pods.LabelApplicationID: "job"},
			Annotations: map[string]string{},
		},
		Spec: v1.PodSpec{NodeName: "a"},
	}
	if group != "" {
		pod.Annotations[pods.AnnotationTaskGroup] = group
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

// needs states how many members a group needs.
func needs(group string, members int) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Annotations[pods.AnnotationTaskGroups] = fmt.Sprintf(`[{"name":%q,"minMember":%d}]`, group, members)
	}
}

func protection(t *testing.T, h *handle, edit func(*queues.ProtectionArgs)) *queues.Protection {
	t.Helper()
	d := queues.Definitions(nil)[0]
	args := d.Args().(*queues.ProtectionArgs)
	if edit != nil {
		edit(args)
	}
	plugin, err := d.New(t.Context(), args, h)
	assert.NilError(t, err)
	return plugin.(*queues.Protection)
}

func TestGuaranteesAreKept(t *testing.T) {
	h := &handle{snapshot: framework.NewSnapshot(framework.Objects{}, time.Time{}), shares: shares{
		"within": {Queue: "root.a", Kind: "vcore", Used: 3, Guaranteed: 4}, "over": {Queue: "root.b", Used: 4, Guaranteed: 4}, "free": {Queue: "root.c"},
	}}
	p := protection(t, h, nil)
	assert.Error(t, p.PreEvictionFilter(member("within", "")), "without it queue root.a would use 3 of the 4 of vcore that it is guaranteed")
	for _, name := range []string{"over", "free", "of another scheduler"} {
		assert.NilError(t, p.PreEvictionFilter(member(name, "")))
	}
	off := protection(t, h, func(a *queues.ProtectionArgs) { a.Guarantees = false })
	assert.NilError(t, off.PreEvictionFilter(member("within", "")))
}

func TestGangsStayWhole(t *testing.T) {
	all := []*v1.Pod{
		member("driver", "", needs("workers", 2)), member("w1", "workers"), member("w2", "workers"), member("w3", "workers"),
		member("ended", "workers", func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }),
		member("waits", "workers", func(p *v1.Pod) { p.Spec.NodeName = "" }),
		member("lost", "unstated"),
		member("grouped", "", func(p *v1.Pod) { name := "pg"; p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name} }),
	}
	h := &handle{snapshot: framework.NewSnapshot(framework.Objects{Pods: all}, time.Time{})}
	p := protection(t, h, nil)
	assert.NilError(t, p.PreEvictionFilter(all[0]), "the driver is in no group")
	assert.NilError(t, p.PreEvictionFilter(all[1]))
	h.snapshot.Evicted("w1")
	assert.Error(t, p.PreEvictionFilter(all[2]), "task group workers needs 2 members and has 2")
	assert.ErrorContains(t, p.PreEvictionFilter(all[6]), "no pod says how many")
	assert.Error(t, p.PreEvictionFilter(all[7]), "the pod is a member of pod group pg")
	assert.ErrorContains(t, p.PreEvictionFilter(member("new", "later")), "no pod says how many")
	off := protection(t, h, func(a *queues.ProtectionArgs) { a.Gangs = false })
	assert.NilError(t, off.PreEvictionFilter(all[2]))
}

func TestOverUsedQueuesGoFirst(t *testing.T) {
	h := &handle{shares: shares{
		"little": {Used: 1, Guaranteed: 4}, "much": {Used: 9, Guaranteed: 4}, "same": {Used: 18, Guaranteed: 8}, "free": {},
	}}
	d := queues.Definitions(func(a, b *v1.Pod) bool { return a.Name < b.Name })[1]
	plugin, err := d.New(t.Context(), nil, h)
	assert.NilError(t, err)
	names := []string{"another", "little", "same", "free", "much", "yet-another"}
	less := plugin.(framework.SortPlugin).Less
	slices.SortFunc(names, func(a, b string) int {
		if less(member(a, ""), member(b, "")) {
			return -1
		}
		return 1
	})
	assert.DeepEqual(t, names, []string{"free", "much", "same", "little", "another", "yet-another"})
}
