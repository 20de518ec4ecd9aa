package simulation

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/yaml"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// gangs: no eviction leaves a gang with fewer running members than it needs.
func gangs(r *descheduler.Report, before, _ framework.Objects) (wrong []string) {
	running, all := map[string]int{}, byUID(before.Pods)
	for _, p := range before.Pods {
		if p.Status.Phase == v1.PodRunning && p.DeletionTimestamp == nil {
			running[p.Namespace+"/"+p.Labels["app"]]++
		}
	}
	for _, e := range r.Evictions {
		p := all[e.UID]
		if p.Status.Phase != v1.PodRunning {
			continue
		}
		app := p.Namespace + "/" + p.Labels["app"]
		running[app]--
		var groups []struct{ MinMember int }
		if text := p.Annotations[pods.AnnotationTaskGroups]; text != "" && json.Unmarshal([]byte(text), &groups) == nil {
			if running[app] < groups[0].MinMember {
				wrong = append(wrong, fmt.Sprintf("gang %s needs %d and has %d without %s", app, groups[0].MinMember, running[app], e.Pod))
			}
		}
	}
	return wrong
}

// guaranteed reads what random queues are guaranteed, in thousandths.
func guaranteed(text string) map[string]map[string]*big.Int {
	var config struct {
		Partitions []struct {
			Queues []struct {
				Queues []struct {
					Name      string
					Resources struct{ Guaranteed map[string]resource.Quantity }
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		panic(err)
	}
	all := map[string]map[string]*big.Int{}
	for _, q := range config.Partitions[0].Queues[0].Queues {
		kinds := map[string]*big.Int{}
		for name, amount := range q.Resources.Guaranteed {
			kinds[strings.Replace(name, "vcore", "cpu", 1)] = big.NewInt(amount.MilliValue())
		}
		all["root."+q.Name] = kinds
	}
	return all
}

// guarantees: no eviction leaves a queue with less than is guaranteed to it, of a kind that
// the pod requests.
func (w *world) guarantees(r *descheduler.Report, before, _ framework.Objects) (wrong []string) {
	used, all := map[string]map[string]*big.Int{}, byUID(before.Pods)
	add := func(p *v1.Pod, sign int64) map[string]*big.Int {
		queue := p.Labels[pods.LabelQueue]
		if used[queue] == nil {
			used[queue] = map[string]*big.Int{"cpu": new(big.Int), "memory": new(big.Int)}
		}
		for name, q := range resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}) {
			if sum := used[queue][string(name)]; sum != nil {
				sum.Add(sum, big.NewInt(sign*q.MilliValue()))
			}
		}
		return used[queue]
	}
	for _, p := range before.Pods {
		if p.Spec.SchedulerName == schedulerName && p.Status.Phase == v1.PodRunning {
			add(p, 1)
		}
	}
	floors := guaranteed(w.queues)
	for _, e := range r.Evictions {
		p := all[e.UID]
		if p.Spec.SchedulerName != schedulerName || p.Status.Phase != v1.PodRunning {
			continue
		}
		left := add(p, -1)
		for kind, floor := range floors[p.Labels[pods.LabelQueue]] {
			if left[kind].Cmp(floor) < 0 {
				wrong = append(wrong, fmt.Sprintf("queue %s is left with %s of the %s %s guaranteed, without %s",
					p.Labels[pods.LabelQueue], left[kind], floor, kind, e.Pod))
			}
		}
	}
	return wrong
}
