// Package drain is what a node says of its drain, in an annotation: the descheduler writes it, and goes on
// with it after a restart; kubectl narwhal drain-plan shows it.
package drain

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotation is the key of a Status on its node.
const Annotation = "descheduler.narwhal-scheduler.io/drain"

// State is how far a drain is.
type State string

// The states.
const (
	// Waiting: other nodes drain, and its turn has not come.
	Waiting State = "Waiting"
	// Draining: pods are leaving, or a limit lets them go later.
	Draining State = "Draining"
	// Blocked: all pods that are left are kept, each with a reason.
	Blocked State = "Blocked"
	// Drained: no pod is left that is to leave.
	Drained State = "Drained"
)

// Bounds of a Status, whatever pods there are.
const (
	podsMax = 20  // that are named
	whyMax  = 200 // bytes of a reason
)

// Status is how far the drain of a node is. Times are in whole seconds.
type Status struct {
	State State `json:"state"`
	// Since is when the drain was opened, and Changed when the state began.
	Since   metav1.Time `json:"since"`
	Changed metav1.Time `json:"changed"`
	// By is what opened it, such as taint maintenance=disk:NoSchedule.
	By string `json:"by"`
	// Profile is that of the policy which drains the node.
	Profile string `json:"profile"`
	// Cordoned says that the drain has made the node unschedulable, and takes that back in the end.
	Cordoned bool `json:"cordoned,omitempty"`
	// WaitsFor is a node that drains before, of a drain that waits.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Left is how many pods are to leave and have not. Least is the least that this has been since its turn came, and Moved is
	// since when.
	Left  int         `json:"left"`
	Least int         `json:"least"`
	Moved metav1.Time `json:"moved"`
	// Pods are the first of these.
	Pods []Pod `json:"pods,omitempty"`
}

// A Pod is to leave its node, and has not.
type Pod struct {
	Pod string `json:"pod"` // namespace/name
	// Why is what keeps it, or how it leaves.
	Why string `json:"why"`
	// Since is when that began.
	Since metav1.Time `json:"since"`
}

// Of is what a node says of its drain, or nil. What cannot be read says nothing.
func Of(node *v1.Node) *Status {
	text, there := node.Annotations[Annotation]
	if !there {
		return nil
	}
	s := new(Status)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return nil
	}
	return s
}

// Text is the value of the annotation.
func (s *Status) Text() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // there is nothing in it that cannot be written
	}
	return string(text)
}

// Stay counts a pod that has not left yet. What was said of it in the status before began when it says.
func (s *Status) Stay(now metav1.Time, pod *v1.Pod, why string, before *Status) {
	s.Left++
	if len(s.Pods) >= podsMax {
		return
	}
	if len(why) > whyMax {
		why = strings.ToValidUTF8(why[:whyMax], "") + "..."
	}
	p := Pod{Pod: pod.Namespace + "/" + pod.Name, Why: why, Since: now}
	for _, other := range before.Pods {
		if other.Pod == p.Pod && other.Why == p.Why {
			p.Since = other.Since
		}
	}
	s.Pods = append(s.Pods, p)
}

// Count notes since when no fewer pods have been left, after all were counted. Pods that come do not count, so a drain moves no more often
// than it had pods.
func (s *Status) Count(now metav1.Time, before *Status) {
	s.Least, s.Moved = before.Least, before.Moved
	if before.State == "" || before.State == Waiting && s.State != Waiting || s.Left < s.Least {
		s.Least, s.Moved = s.Left, now
	}
}

// Line is the drain in one line for people.
func (s *Status) Line(node string, now time.Time) string {
	of := fmt.Sprintf("%s, opened %s ago by %s", strings.ToLower(string(s.State)), now.Sub(s.Since.Time).Truncate(time.Second), s.By)
	switch s.State {
	case Drained:
		of += fmt.Sprintf(", took %s", s.Took())
	case Waiting:
		of += fmt.Sprintf(", waits for node %s", s.WaitsFor)
	}
	return fmt.Sprintf("node %s: %s, left: %d", node, of, s.Left)
}

// Took is how long a drain took that has come to its end.
func (s *Status) Took() time.Duration { return s.Changed.Sub(s.Since.Time) }

// Kept names the pods that are left, in one line.
func (s *Status) Kept() string {
	var texts []string
	for _, p := range s.Pods {
		texts = append(texts, p.Pod+": "+p.Why)
	}
	if more := s.Left - len(s.Pods); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}
