package shim

import (
	"context"
	"fmt"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A member is a place in a task group for which there is to be a placeholder.
type member struct {
	group pods.TaskGroup
	index int
	name  string // of the placeholder
}

// missing are the members of an application that have no placeholder.
func missing(said pods.Application, there map[string]bool) (list []member) {
	for _, group := range said.TaskGroups {
		for i := range int(group.MinMember) {
			if name := pods.PlaceholderName(said.ID, group.Name, i); !there[name] {
				list = append(list, member{group, i, name})
			}
		}
	}
	return list
}

// makeAll makes the placeholders of an application, one after the other, without the lock. When
// one is refused, as by a quota, no other one is tried until the next time.
func (g *gangs) makeAll(id string, todo gangWork) error {
	if todo.full != nil {
		g.tell(id, todo.full.Error())
		return todo.full
	}
	var taken error // by one that ends, or of which the informers have not told
	for _, m := range todo.create {
		pod := todo.said.Placeholder(m.group, m.index, todo.of, g.options.PlaceholderImage)
		switch err := g.make(pod); {
		case err == nil:
		case apierrors.IsAlreadyExists(err):
			taken = err
		default:
			g.log.Warn("placeholder not made yet", refer(pod), zap.String("application", id), zap.Error(err))
			g.tell(id, "placeholder "+pod.Name+" could not be made: "+err.Error())
			return err
		}
	}
	return taken
}

// make makes a placeholder and marks it. One that gets no mark, as when the scheduler ends in
// between, is deleted and made again.
func (g *gangs) make(pod *v1.Pod) error {
	if err := g.tooLong(pod); err != nil { // its pod has changed since the gang began
		return err
	}
	name := nameOf(pod)
	known := g.expect(name, true) // it is there, and informers have not told of it
	err := g.request(func(ctx context.Context) (err error) {
		pod, err = g.options.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		g.expect(name, known)
		return err
	}
	err = g.request(func(ctx context.Context) error {
		return g.patchStatus(ctx, pod, map[string]any{"conditions": []v1.PodCondition{{
			Type: pods.ConditionPlaceholder, Status: v1.ConditionTrue, Reason: "Made", LastTransitionTime: metav1.Now(),
		}}})
	})
	if err != nil {
		g.expect(name, false)
	}
	return err
}

// expect notes whether informers will tell of the mark of a placeholder, and returns whether
// they were to before.
func (g *gangs) expect(name string, mark bool) (before bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if before = g.making[name]; mark {
		g.making[name] = true
	} else {
		delete(g.making, name)
	}
	return before
}

// tooLarge says that the task groups of an application ask for more than one may have; nil if
// not. The placeholders of a namespace take at most PlaceholdersMax times PlaceholderBytesMax in the
// API server, whatever its pods say.
func (g *gangs) tooLarge(said pods.Application, of *v1.Pod) error {
	if count := members(said); count > int64(g.options.PlaceholdersMax) {
		return fmt.Errorf("its task groups have %d members, %d are the most: they are not reserved", count, g.options.PlaceholdersMax)
	}
	for _, group := range said.TaskGroups {
		if err := g.tooLong(said.Placeholder(group, 0, of, g.options.PlaceholderImage)); err != nil {
			return fmt.Errorf("task group %s is not reserved: %w", group.Name, err)
		}
	}
	return nil
}

// tooLong says that a placeholder takes too many bytes; nil if not.
func (g *gangs) tooLong(placeholder *v1.Pod) error {
	if size := placeholder.Size(); size > g.options.PlaceholderBytesMax {
		return fmt.Errorf("a placeholder would take %d bytes, %d are the most", size, g.options.PlaceholderBytesMax)
	}
	return nil
}

func members(said pods.Application) (count int64) {
	for _, group := range said.TaskGroups {
		count += int64(group.MinMember)
	}
	return count
}

// admit counts the placeholders of an application in its namespace. The error is that there are
// too many of others: all of its own are made or none, so that no two gangs wait for each other.
// Those that are there already count in any case. The lock must be held.
func (g *gangs) admit(app *application) error {
	if app.gang.admitted {
		return nil
	}
	namespace := app.of.namespace
	most, count := int64(g.options.PlaceholdersMax), members(app.gang.said)
	there := app.placeholders()
	for other := range g.counted[namespace] {
		holds := other.placeholders()
		if gang := other.gang; gang != nil && gang.admitted && gang.gathering && !gang.resuming && gang.failed == "" {
			holds = max(holds, members(gang.said))
		}
		if most -= holds; holds == 0 {
			delete(g.counted[namespace], other)
		}
	}
	if there == 0 && count > most {
		return fmt.Errorf("its gang has %d members, and namespace %s may have %d more placeholders", count, namespace, max(0, most))
	}
	app.gang.admitted = true
	if g.counted[namespace] == nil {
		g.counted[namespace] = map[*application]bool{}
	}
	g.counted[namespace][app] = true
	return nil
}

// placeholders is how many there are of an application.
func (a *application) placeholders() (count int64) {
	for _, t := range a.tasks {
		if pods.IsPlaceholder(t.pod) {
			count++
		}
	}
	return count
}
