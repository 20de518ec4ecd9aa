package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// tagged is the argument of one tag: tag.NAME=value.
const tagged = "tag."

// tags reads tags=a:b,c:d and each tag.NAME=value; the flag owner is one too, and
// so are qos= and grace=.
func (a *arguments) tags() map[string]string {
	tags := a.pairs("tags")
	for _, key := range slices.Sorted(maps.Keys(a.named)) {
		if name, ok := strings.CutPrefix(key, tagged); ok {
			tags = withTag(tags, name, a.text(key))
		}
	}
	if a.flag("owner") {
		tags = withTag(tags, core.TagOwner, "true")
	}
	if a.has("qos") {
		tags = withTag(tags, core.TagQoS, a.text("qos"))
	}
	if a.has("grace") {
		seconds := int64(a.duration("grace") / time.Second)
		tags = withTag(tags, core.TagGrace, strconv.FormatInt(seconds, 10))
	}
	return tags
}

func withTag(tags map[string]string, name, value string) map[string]string {
	if tags == nil {
		tags = map[string]string{}
	}
	tags[name] = value
	return tags
}

// preemptable reads the preemption policy; an ask without these arguments has
// none. What is not said of a policy that is given is false, as in a message.
func (a *arguments) preemptable() core.Preemptable {
	const self, others = "allow-preempt-self", "allow-preempt-other"
	return core.Preemptable{
		Stated:      a.has(self) || a.has(others),
		AllowSelf:   a.truth(self),
		AllowOthers: a.truth(others),
	}
}

func (a *arguments) truth(key string) bool {
	text := a.text(key)
	if text == "" && !a.has(key) {
		return false
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		a.fail("%s=%s is not true or false", key, text)
	}
	return value
}

// confirm says that an evicted allocation has ended.
func (w *world) confirm(a *arguments) (func(), error) {
	key := core.AllocationKey(a.need("the allocation"))
	last, ok := w.sent[key]
	if !ok {
		return nil, fmt.Errorf("%s was never accepted", key)
	}
	c := core.ReleaseAllocation{
		Key: key, Application: last.Application, Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER,
	}
	return func() { w.apply(c) }, nil
}

// showPlan prints the last plan to make room for an ask. Its quantities are in
// the units of messages: thousandths of a core, bytes.
func (w *world) showPlan(a *arguments) (func(), error) {
	return w.ofAsk(a, func(ask core.AskView) {
		if ask.Plan == nil {
			w.printf("no plan for %s\n", ask.Key)
			return
		}
		w.printf("at %s %s\n", w.offset(ask.Planned), ask.Plan.Explain(w.kinds))
	})
}

// ofAsk prints something of a waiting ask.
func (w *world) ofAsk(a *arguments, show func(core.AskView)) (func(), error) {
	key := core.AllocationKey(a.need("the ask"))
	if _, ok := w.sent[key]; !ok {
		return nil, fmt.Errorf("%s was never accepted", key)
	}
	return func() {
		ask, waits := w.askOf(key)
		if !waits {
			w.printf("%s does not wait\n", key)
			return
		}
		show(ask)
	}, nil
}

func (w *world) askOf(key core.AllocationKey) (ask core.AskView, waits bool) {
	for _, application := range w.here().View().Applications {
		for _, ask := range application.Asks {
			if ask.Key == key {
				return ask, true
			}
		}
	}
	return core.AskView{}, false
}

func (w *world) showPreempted() {
	p := w.here().View().Preempted
	w.printf("plans %d, victims %d, overdue %d, reservations given way %d\n", p.Plans, p.Victims.Total(), p.Overdue.Total(), p.Reservations)
}

// evictionOf says for which ask, or by which trigger, an allocation is evicted.
func (w *world) evictionOf(n *core.NodeView, key core.AllocationKey) string {
	i := slices.IndexFunc(n.Evictions, func(e core.Eviction) bool { return e.Key == key })
	if i < 0 {
		return ""
	}
	e := n.Evictions[i]
	text := fmt.Sprintf(", evicted for %s since %s", e.For, w.offset(e.Since))
	if e.For == "" {
		text = fmt.Sprintf(", evicted by %s since %s", e.Trigger, w.offset(e.Since))
	}
	if e.Overdue {
		text += ", overdue"
	}
	return text
}
