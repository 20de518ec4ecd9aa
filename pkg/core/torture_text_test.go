package core_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// text is the world as the commands of a scenario, up to the first "schedule".
func (w *tortureWorld) text() string {
	b := new(strings.Builder)
	fmt.Fprintln(b, "config")
	for _, line := range w.yaml() {
		fmt.Fprintln(b, "  "+line)
	}
	for _, n := range w.Nodes {
		fmt.Fprintf(b, "node %s %s%s\n", n.Name, n.Capacity.words(), tortureIf(n.Drained, " drained"))
	}
	for _, q := range w.Queues {
		if w.leaf(q.Name) {
			fmt.Fprintf(b, "application %s queue=root.%s user=ann groups=dev\n", q.Name, q.Name)
		}
	}
	fmt.Fprint(b, w.applicationsText())
	for i := range w.Pods {
		if w.Pods[i].Node != "" {
			fmt.Fprintln(b, w.words(&w.Pods[i]))
		}
	}
	for _, r := range w.Rules {
		fmt.Fprintf(b, "%s %s %s%s\n", r.Verb, r.Pod, r.Other, tortureIf(r.Verb == "refuse", ` "no"`))
	}
	for _, x := range w.Budgets {
		fmt.Fprintf(b, "budget %s allowed=%d\n  %s\n", x.Name, x.Allowed, strings.Join(x.Members, " "))
	}
	at := 0
	for _, t := range w.times() {
		if t > at {
			fmt.Fprintf(b, "schedule\nadvance %ds\n", t-at)
			at = t
		}
		if w.Lowered.Queue != "" && w.Lowered.At == t {
			fmt.Fprint(b, w.loweredText())
		}
		for i := range w.Pods {
			p := &w.Pods[i]
			if p.Node == "" && p.At == t {
				fmt.Fprint(b, tortureIf(t > 0, w.applicationText(p)), w.words(p), "\n")
			}
			if p.Ends == t && t > 0 {
				fmt.Fprintln(b, "release", p.Key)
			}
		}
	}
	fmt.Fprintln(b, "schedule")
	for i := range w.Pods {
		if w.Pods[i].Grace < 0 {
			fmt.Fprintf(b, "# %s is never confirmed\n", w.Pods[i].Key)
		}
	}
	fmt.Fprint(b, tortureIf(w.Dynamic, "# leaves without properties are made for their applications, with the same amounts\n"))
	fmt.Fprint(b, tortureIf(w.Denied, "# applications of another user are refused\n"))
	fmt.Fprint(b, tortureIf(w.KeepsForeign, "# pods of other schedulers do not end when they are released\n"))
	fmt.Fprint(b, tortureIf(w.Recreate, "# what was evicted is asked for again, with an x and a number behind its key\n"))
	return b.String()
}

// times are when asks come and pods are released, and the beginning.
func (w *tortureWorld) times() []int {
	list := []int{0}
	if w.Lowered.Queue != "" {
		list = append(list, w.Lowered.At)
	}
	for i := range w.Pods {
		list = append(list, w.Pods[i].At, w.Pods[i].Ends)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func tortureIf(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

func (w *tortureWorld) words(p *torturePod) string {
	b := new(strings.Builder)
	if p.Foreign != core.Own {
		fmt.Fprintf(b, "foreign %s node=%s %s", p.Key, p.Node, p.Amounts.words())
		fmt.Fprint(b, tortureIf(p.Foreign == core.Static, " static"))
	} else {
		fmt.Fprintf(b, "ask %s application=%s %s", p.Key, p.application(), p.Amounts.words())
		fmt.Fprint(b, tortureIf(p.Node != "", " node="+p.Node), tortureIf(p.Required, " required="+p.Node))
		fmt.Fprint(b, tortureIf(p.Requires != "", " required="+p.Requires), tortureIf(p.Owner, " originator"))
		fmt.Fprint(b, tortureIf(p.OptedOut, " tag.yunikorn.apache.org/allow-preemption=false"))
		fmt.Fprint(b, tortureIf(p.Polite, " allow-preempt-self=true allow-preempt-other=false"))
	}
	if p.Quorum != "" {
		fmt.Fprintf(b, " tags=quorum.name:%s,quorum.least:%d", p.Quorum, w.Quorums[p.Quorum])
	}
	if p.Group != "" {
		fmt.Fprint(b, " group=", p.Group, tortureIf(p.Placeholder, " placeholder"))
	}
	if p.Priority != 0 {
		fmt.Fprintf(b, " priority=%d", p.Priority)
	}
	if p.Age != 0 {
		fmt.Fprintf(b, " created=-%dm", p.Age)
	}
	return b.String()
}

// yaml is the configuration as lines.
func (w *tortureWorld) yaml() []string {
	lines := []string{"partitions:", "  - name: default"}
	var preemption []string
	if w.Policy != preemptor.PreferBudgets {
		preemption = append(preemption, "preemption_disruption_budgets: "+[]string{"prefer", "strict", "hard"}[w.Policy])
	}
	if w.Priority != core.StrictlyLower {
		preemption = append(preemption, "preemption_priority: "+[]string{"strict", "equal", "off"}[w.Priority])
	}
	if w.Lowered.Queue != "" {
		preemption = append(preemption, "quotapreemptionenabled: true")
	}
	if len(preemption) > 0 {
		lines = append(lines, "    preemption: {"+strings.Join(preemption, ", ")+"}")
	}
	if w.Devices {
		lines = append(lines, "    nodesortpolicy: {type: devices, devices: {pods: 1}}")
	}
	lines = append(lines, "    queues:", "      - name: root")
	if limits := w.limitsYAML(""); limits != "" {
		lines = append(lines, "        "+limits)
	}
	var own []string
	if w.Backoff > 0 {
		own = append(own, fmt.Sprintf("application.unschedasks.backoff: \"%d\"", w.Backoff))
	}
	if w.Whole {
		own = append(own, "gang.start: whole")
	}
	if w.Lowered.Queue != "" {
		own = append(own, fmt.Sprintf("quota.preemption.delay: %ds", w.Lowered.Delay))
	}
	if len(own) > 0 {
		lines = append(lines, "        properties: {"+strings.Join(own, ", ")+"}")
	}
	lines = append(lines, "        queues:")
	for _, q := range w.Queues {
		indent := strings.Repeat("    ", strings.Count(q.Name, ".")+2) + "  "
		lines = append(lines, indent+"- name: "+q.Name[strings.LastIndexByte(q.Name, '.')+1:])
		var amounts, properties []string
		if q.Guaranteed != (tortureAmounts{}) {
			amounts = append(amounts, "guaranteed: "+q.Guaranteed.yaml())
		}
		if q.Max != (tortureAmounts{}) {
			amounts = append(amounts, "max: "+q.Max.yaml())
		}
		if q.Policy != core.PreemptionDefault {
			properties = append(properties, "preemption.policy: "+[]string{"default", "fence", "disabled"}[q.Policy])
		}
		if q.Fence {
			properties = append(properties, "priority.policy: fence")
		}
		if q.Offset != 0 {
			properties = append(properties, fmt.Sprintf("priority.offset: \"%d\"", q.Offset))
		}
		if len(amounts) > 0 {
			lines = append(lines, indent+"  resources: {"+strings.Join(amounts, ", ")+"}")
		}
		if len(properties) > 0 {
			lines = append(lines, indent+"  properties: {"+strings.Join(properties, ", ")+"}")
		}
		if limits := w.limitsYAML(q.Name); limits != "" {
			lines = append(lines, indent+"  "+limits)
		}
		if !w.leaf(q.Name) {
			lines = append(lines, indent+"  queues:")
		}
	}
	return lines
}
