package archive

import (
	"fmt"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// naivePlans is every plan in words, with what came of it, the oldest first.
func naivePlans(moments []moment) (out []string) {
	for i := range moments {
		for j, effect := range moments[i].Effects {
			switch e := effect.(type) {
			case *api.Claimed:
				if e.Plan == nil {
					continue
				}
				p := Plan{Application: e.Application, Key: e.Key, Queue: appAt(&moments[i], e.Application).Queue, User: appAt(&moments[i], e.Application).User, Node: e.Node, Decision: e.Plan}
				out = append(out, naivePlan(moments[i:], j, &p))
			case *api.PreemptionPlanned:
				p := Plan{Application: e.Application, Key: e.Key, Queue: e.Queue, User: userAt(&moments[i], e.Application), Node: e.Node, Decision: e.Plan}
				out = append(out, naivePlan(moments[i:], j, &p))
			}
		}
	}
	return out
}

// naivePlan works out what came of a plan that the first moment tells of as one of
// its effects.
func naivePlan(moments []moment, effect int, p *Plan) string {
	p.At, p.Trigger = moments[0].Now, p.Decision.Trigger
	p.Outcome, p.On, p.Until = naiveOutcome(moments, effect, p.Key)
	left := 0
	var last time.Time
	for _, v := range p.Decision.Victims {
		victim := naiveVictim(moments, p.Node, api.AllocationKey(v.Key))
		if victim.Ended.IsZero() {
			left++
		} else if victim.Ended.After(last) {
			last = victim.Ended
		}
		p.Victims = append(p.Victims, victim)
	}
	if p.Decision.Reason != preemptor.Chosen {
		p.Victims = nil
	}
	if p.Trigger == preemptor.Quota && left == 0 {
		p.Outcome, p.Until = Freed, last
	}
	return planText(p)
}

// naiveOutcome looks for the first thing that ends a plan for an ask.
func naiveOutcome(moments []moment, after int, ask api.AllocationKey) (Outcome, api.NodeID, time.Time) {
	for i := 0; ask != "" && i < len(moments); i++ {
		m := &moments[i]
		first := 0
		if i == 0 {
			first = after + 1
		}
		for _, effect := range m.Effects[first:] {
			switch e := effect.(type) {
			case api.Placed:
				if e.Key == ask {
					return Placed, e.Node, m.Now
				}
			case api.Adopted:
				if e.Key == ask {
					return Placed, e.Node, m.Now
				}
			case *api.ClaimEnded:
				if e.Key == ask && e.Nominated && e.Waits() {
					return Cleared, "", m.Now
				}
			case *api.Claimed:
				if e.Key == ask && e.Plan != nil {
					return Replaced, "", m.Now
				}
			case *api.PreemptionPlanned:
				if e.Key == ask {
					return Replaced, "", m.Now
				}
			}
		}
		waits := false
		for _, app := range m.view.Applications {
			waits = waits || waitsAt(m, app.ID, ask)
		}
		if !waits {
			return Withdrawn, "", m.Now
		}
	}
	return UnderWay, "", time.Time{}
}

// naiveVictim follows an allocation until it is not where it was.
func naiveVictim(moments []moment, node api.NodeID, key api.AllocationKey) Victim {
	v := Victim{Key: key, Node: node}
	for _, app := range moments[0].view.Applications {
		if a := runsAt(&moments[0], app.ID, key); a != nil {
			v.Application, v.Queue, v.User, v.Node, v.Class = app.ID, app.Queue, app.User, a.Node, a.Class()
			v.OwnPriority, v.Started = a.Priority, a.Placed
		}
	}
	if n := nodeAt(&moments[0], node); n != nil {
		for _, a := range n.ForeignAllocations {
			if a.Key == key && v.Application == "" {
				v.Class, v.OwnPriority, v.Started = a.Class(), a.Priority, a.Created
			}
		}
	}
	for i := range moments {
		there := false
		if v.Application != "" {
			a := runsAt(&moments[i], v.Application, key)
			there = a != nil && a.Node == v.Node
		} else if n := nodeAt(&moments[i], node); n != nil {
			for _, a := range n.ForeignAllocations {
				there = there || a.Key == key
			}
		}
		if !there {
			v.Ended = moments[i].Now
			break
		}
	}
	return v
}

// planText is a plan on one line, without the reason of its outcome.
func plansText(plans []*Plan) string {
	texts := make([]string, len(plans))
	for i, p := range plans {
		texts[i] = planText(p)
	}
	return strings.Join(texts, "\n")
}

func planText(p *Plan) string {
	words := []string{fmt.Sprintf("%s: %s %q of %q by %q in %q on %q:", ago(p.At), p.Trigger, p.Key, p.Application, p.User, p.Queue, p.Node)}
	for _, v := range p.Victims {
		words = append(words, fmt.Sprintf("%s (%s, %d) of %q by %q in %q on %q from %s until %s,", v.Key, v.Class, v.OwnPriority, v.Application, v.User, v.Queue, v.Node, ago(v.Started), ago(v.Ended)))
	}
	return strings.Join(append(words, p.Outcome.String(), string(p.On), ago(p.Until)), " ")
}

func ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Sub(start).String()
}
