package shim

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

func taskOf(app *application, name, node string, placeholder bool) *task {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if placeholder {
		pod.Annotations = map[string]string{pods.AnnotationHolder: "true", pods.AnnotationTaskGroup: "workers"}
		pod.Status.Conditions = []v1.PodCondition{{Type: pods.ConditionPlaceholder}}
	}
	return &task{state: state{pod: pod}, app: app, node: node}
}

// Which pods of a gang the core is not told of, in each state that the gang can have.
func TestGangHolds(t *testing.T) {
	g := &gangs{}
	for _, c := range []struct {
		what                string
		gang                *gang
		member, placeholder string
	}{
		{"no gang", nil, "", ""},
		{"it gathers", &gang{gathering: true}, waitsForGang, ""},
		{"all is placed", &gang{}, "", ""},
		{"it took too long", &gang{gathering: true, resuming: true}, waitsForGang, "it is not needed any more"},
		{"it goes on without them", &gang{resuming: true}, "", "it is not needed any more"},
		{"it has failed", &gang{failed: "too late"}, "too late", "too late"},
	} {
		app := &application{gang: c.gang}
		assert.Equal(t, g.holds(taskOf(app, "member", "", false)), c.member, c.what)
		assert.Equal(t, g.holds(taskOf(app, "placeholder", "", true)), c.placeholder, c.what)
		for _, placeholder := range []bool{false, true} {
			assert.Equal(t, g.holds(taskOf(app, "runs", "node-1", placeholder)), "", c.what)
		}
	}
	evicted := taskOf(&application{gang: &gang{}}, "placeholder", "", true)
	evicted.eviction = &eviction{}
	assert.Equal(t, g.holds(evicted), "it is not needed any more")
}

// A gang of which a member has its node has begun before a restart: it does not gather again,
// whatever placeholders there are.
func TestGangThatHasBegun(t *testing.T) {
	said := pods.Application{TaskGroups: []pods.TaskGroup{{Name: "workers", MinMember: 2}}}
	for _, c := range []struct {
		what      string
		placed    bool // a placeholder
		runs      bool // a member
		gathering bool
	}{
		{"nothing has a node", false, false, true},
		{"a placeholder has", true, false, true},
		{"a member has", false, true, false},
		{"both have", true, true, false},
	} {
		node := map[bool]string{true: "node-1"}
		app := &application{}
		app.tasks = map[string]*task{
			"placeholder": taskOf(app, "placeholder", node[c.placed], true),
			"member":      taskOf(app, "member", node[c.runs], false),
		}
		newGangs(&Context{options: Options{}.withDefaults()}).begin(app, said)
		assert.Equal(t, app.gang.gathering, c.gathering, c.what)
	}
}
