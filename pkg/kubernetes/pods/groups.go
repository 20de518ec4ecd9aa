package pods

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A TaskGroup is the pods of a gang that are alike: so many of such a size, and where they
// may run.
type TaskGroup struct {
	Name        string                       `json:"name"`
	MinMember   int32                        `json:"minMember"`
	MinResource map[string]resource.Quantity `json:"minResource,omitempty"`

	NodeSelector              map[string]string             `json:"nodeSelector,omitempty"`
	Tolerations               []v1.Toleration               `json:"tolerations,omitempty"`
	Affinity                  *v1.Affinity                  `json:"affinity,omitempty"`
	TopologySpreadConstraints []v1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	Labels                    map[string]string             `json:"labels,omitempty"`
	Annotations               map[string]string             `json:"annotations,omitempty"`
}

// Resources are the amounts of one member. Without any, a member takes one pod.
func (g TaskGroup) Resources() *si.Resource {
	list := make(v1.ResourceList, len(g.MinResource))
	for name, quantity := range g.MinResource {
		list[v1.ResourceName(name)] = quantity
	}
	amounts := Amounts(list)
	amounts.Resources[string(v1.ResourcePods)] = &si.Quantity{Value: 1}
	return amounts
}

// Check says what is wrong with a group.
func (g TaskGroup) Check() error {
	switch {
	case g.Name == "":
		return errors.New("a task group has no name")
	case g.MinMember <= 0:
		return fmt.Errorf("task group %s: minMember is %d, at least 1 is needed", g.Name, g.MinMember)
	}
	for name, quantity := range g.MinResource {
		if quantity.Sign() < 0 {
			return fmt.Errorf("task group %s: minResource %s is negative", g.Name, name)
		}
	}
	return nil
}

// GroupName is the group a pod belongs to: its task group, or else its pod group.
func GroupName(pod *v1.Pod) string {
	if name := pod.Annotations[AnnotationTaskGroup]; name != "" {
		return bounded(name)
	}
	return PodGroupOf(pod)
}

// ConditionPlaceholder marks a placeholder that the scheduler has made. The API server drops the
// status of a pod that is created, and what a user may write of pods leaves it as it is.
const ConditionPlaceholder v1.PodConditionType = domain + "Placeholder"

// SaysPlaceholder reports whether a pod says that it only holds room for a member of its group.
// One that names no group is an ordinary pod.
func SaysPlaceholder(pod *v1.Pod) bool {
	held, _ := strconv.ParseBool(pod.Annotations[AnnotationHolder])
	return held && GroupName(pod) != ""
}

// IsPlaceholder reports whether a pod only holds room for a member of its group: it says so, and
// the scheduler has made it.
func IsPlaceholder(pod *v1.Pod) bool {
	return SaysPlaceholder(pod) && slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == ConditionPlaceholder })
}

// OfPodGroup is the task group of a pod group, with the size of one of its pods. It is
// false for a group whose pods are scheduled one by one.
func OfPodGroup(group PodGroup, member *v1.Pod) (TaskGroup, bool) {
	if group.MinCount == 0 {
		return TaskGroup{}, false
	}
	least := make(map[string]resource.Quantity)
	for name, quantity := range Resources(member).Resources {
		if name == "vcore" {
			least["cpu"] = *resource.NewMilliQuantity(quantity.Value, resource.DecimalSI)
		} else {
			least[name] = *resource.NewQuantity(quantity.Value, resource.DecimalSI)
		}
	}
	return TaskGroup{Name: group.Name, MinMember: group.MinCount, MinResource: least}, true
}

// Placeholders are the amounts of all members of all groups. Sums beyond 2^63-1 stay there.
func (a Application) Placeholders() *si.Resource {
	sum := &si.Resource{Resources: map[string]*si.Quantity{}}
	for _, group := range a.TaskGroups {
		for name, quantity := range group.Resources().Resources {
			if sum.Resources[name] == nil {
				sum.Resources[name] = &si.Quantity{}
			}
			have := sum.Resources[name]
			if quantity.Value > (math.MaxInt64-have.Value)/int64(group.MinMember) {
				have.Value = math.MaxInt64
			} else {
				have.Value += quantity.Value * int64(group.MinMember)
			}
		}
	}
	return sum
}

// TagsOf is what a member of a task group without placeholders says: all task groups of the application start together, each with its
// minimum.
func (a Application) TagsOf(group TaskGroup) map[string]string {
	tags := PodGroup{Name: url.PathEscape(group.Name), MinCount: group.MinMember}.TagsIn(PodGroup{MinCount: int32(len(a.TaskGroups))})
	tags[TagQuorum] = ApplicationGroup(a.Namespace, a.ID)
	return tags
}

// ApplicationGroup names the group of all pods of an application whose task groups have no placeholders.
func ApplicationGroup(namespace, id string) string { return namespace + "/application/" + id }

// readGroups takes the task groups of an application and how its placeholders wait. A group
// that is wrong makes all of them void, since a part of a gang is none.
func (a *Application) readGroups(pod *v1.Pod) error {
	if err := a.readPolicy(pod.Annotations[AnnotationPolicy]); err != nil {
		return err
	}
	text := pod.Annotations[AnnotationTaskGroups]
	if text == "" {
		return nil
	}
	var groups []TaskGroup
	if err := json.Unmarshal([]byte(text), &groups); err != nil {
		return fmt.Errorf("annotation %s: %w", AnnotationTaskGroups, err)
	}
	names := map[string]bool{}
	for _, group := range groups {
		if err := group.Check(); err != nil {
			return fmt.Errorf("annotation %s: %w", AnnotationTaskGroups, err)
		}
		if names[group.Name] {
			return fmt.Errorf("annotation %s: there are two task groups %s", AnnotationTaskGroups, group.Name)
		}
		names[group.Name] = true
	}
	a.TaskGroups, a.GroupsHash = groups, hashOf(text)
	return nil
}

func hashOf(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:16])
}

// policy is what readPolicy reads.
func (a Application) policy() string {
	var fields []string
	if a.Timeout > 0 {
		fields = append(fields, fmt.Sprint("placeholderTimeoutInSeconds=", a.Timeout))
	}
	if a.Hard {
		fields = append(fields, "gangSchedulingStyle=Hard")
	}
	return strings.Join(fields, " ")
}

// readPolicy takes parameters that are written as "placeholderTimeoutInSeconds=60
// gangSchedulingStyle=Hard". Unknown ones are left out.
func (a *Application) readPolicy(text string) error {
	for field := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "placeholderTimeoutInSeconds":
			seconds, err := strconv.ParseInt(value, 10, 32)
			if err != nil || seconds < 0 {
				return fmt.Errorf("annotation %s: placeholderTimeoutInSeconds=%s: seconds from 0 to %d are expected", AnnotationPolicy, value, math.MaxInt32)
			}
			a.Timeout = seconds
		case "gangSchedulingStyle":
			switch value {
			case "Hard":
				a.Hard = true
			case "Soft":
				a.Hard = false
			default:
				return fmt.Errorf("annotation %s: gangSchedulingStyle=%s: Soft or Hard is expected", AnnotationPolicy, value)
			}
		}
	}
	return nil
}
