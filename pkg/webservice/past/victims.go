package past

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// preemptedPodJSON is a pod that was preempted, and how often. A resource manager that
// names pods starts one again with another key; without a name it is the key.
type preemptedPodJSON struct {
	PodName       string              `json:"podName"`
	ApplicationID api.ApplicationID   `json:"applicationId,omitempty"` // not of another scheduler
	QueueName     api.QueuePath       `json:"queueName,omitempty"`
	User          string              `json:"user,omitempty"`
	Class         string              `json:"class"` // of that time
	Times         int                 `json:"times"`
	Wasted        int                 `json:"wasted,omitempty"` // of those times, for nothing
	Last          encoder.Nanoseconds `json:"last"`             // when it was chosen last
	Trigger       string              `json:"trigger"`          // of that time
	AllocationKey api.AllocationKey   `json:"allocationKey"`    // of that time
}

// Victims answers GET /ws/v1/partition/{partition}/victims: the pods that the plans which
// are kept chose, the one that was preempted most first.
func Victims(at *object.Snapshot, r *http.Request) (any, error) {
	return query.List(r, at.Kinds(), preemptedPods(at), func(from *preemptedPodJSON, out *preemptedPodJSON) { *out = *from },
		query.Texts("application", func(v *preemptedPodJSON) api.ApplicationID { return v.ApplicationID }),
		query.Texts("user", func(v *preemptedPodJSON) string { return v.User }),
		query.By("class", func(value string) (func(*preemptedPodJSON) bool, error) {
			return func(v *preemptedPodJSON) bool { return v.Class == value }, query.OneOf("class", value, victimClasses)
		}),
		query.Words("trigger", Triggers(), func(v *preemptedPodJSON) string { return v.Trigger }))
}

// preemptedPods counts the victims of the plans that are kept, by application and pod.
func preemptedPods(at *object.Snapshot) []*preemptedPodJSON {
	type pod struct {
		application api.ApplicationID
		name        string
	}
	known := map[pod]*preemptedPodJSON{}
	var out []*preemptedPodJSON
	for _, plan := range at.Past().Plans() { // the newest first
		for i := range plan.Victims {
			v := &plan.Victims[i]
			name := pod{v.Application, cmp.Or(v.Pod, string(v.Key))}
			one := known[name]
			if one == nil {
				one = &preemptedPodJSON{
					PodName: name.name, ApplicationID: v.Application, QueueName: v.Queue, User: v.User, Class: v.Class.String(), AllocationKey: v.Key,
					Last: encoder.NanosecondsOf(plan.At), Trigger: plan.Trigger.String(),
				}
				known[name], out = one, append(out, one)
			}
			one.Times++
			if v.Wasted != "" {
				one.Wasted++
			}
		}
	}
	slices.SortFunc(out, func(a, b *preemptedPodJSON) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(b.Last, a.Last), strings.Compare(string(a.ApplicationID), string(b.ApplicationID)), strings.Compare(a.PodName, b.PodName))
	})
	return out
}
