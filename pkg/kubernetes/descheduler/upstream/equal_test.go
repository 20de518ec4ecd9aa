package upstream

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

const worldsByDefault = 200

var (
	worlds = flag.Uint64("worlds", worldsByDefault, "how many worlds of each plugin are tried; five times as many of one that seldom acts")
	tell   = flag.Bool("tell", false, "print the differences that are permitted, too")
	first  = flag.Uint64("first", 0, "the seed of the first one")
)

// permitted is in how many of the worlds that are tried by default the two differ. These numbers
// may only become smaller.
var permitted = map[string]map[reason]int{
	"RemoveDuplicates":                            {keptCount: 3, noHelp: 2},
	"LowNodeUtilization":                          {byNodes: 1, fewReplicas: 1},
	"HighNodeUtilization":                         {byNodes: 2},
	"RemovePodsViolatingInterPodAntiAffinity":     {unready: 1, keptCount: 1, whichGoes: 3, noPlace: 3},
	"RemovePodsViolatingNodeAffinity":             {},
	"RemovePodsViolatingNodeTaints":               {fewReplicas: 1, noPlace: 1, noHelp: 1},
	"RemovePodsViolatingTopologySpreadConstraint": {tooMany: 23, tooFew: 31, pends: 14, asGood: 4, mayGo: 1, noHelp: 1},
	"RemovePodsHavingTooManyRestarts":             {},
	"PodLifeTime":                                 {fewReplicas: 1},
	"RemoveFailedPods":                            {},
}

// equalMin is in how many of a thousand worlds in which one of the two evicts a pod both evict the same, before anything is permitted. Those do
// not count in which it is proved that upstream is wrong.
const equalMin = 950

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // upstream tells of each pod
	m.Run()
}

// TestEqual: both evict the same pods, but for what is permitted.
func TestEqual(t *testing.T) {
	e := newEngine(t)
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			tried := *worlds * max(p.times, 1)
			found, busy, different := map[reason]int{}, 0, 0
			for seed := *first; seed < *first+tried; seed++ {
				d := e.compare(newWorld(seed, p))
				if len(d.ours)+len(d.theirs) == 0 {
					continue
				}
				busy++
				if d.names(d.ours) == d.names(d.theirs) {
					continue
				}
				different++
				why := d.reason()
				found[why]++
				if why == "" || *tell {
					t.Logf("seed %d: %s", seed, d)
				}
			}
			wrong := found[tooFew] + found[tooMany] + found[pends] + found[ofNoUse]
			same := busy - different
			t.Logf("the same pods in %s of %d worlds, and in %s of the %d in which there are any; in %s without those in which upstream is wrong, %v",
				percent(int(tried)-different, int(tried)), tried, percent(same, busy), busy, percent(same, busy-wrong), found)
			assert.Equal(t, found[""], 0, "differences without a reason")
			assert.Assert(t, busy*10 >= int(tried), "a plugin that never acts proves nothing")
			if *worlds == worldsByDefault && *first == 0 {
				assert.DeepEqual(t, found, permitted[p.name]) // write a smaller number there
				assert.Assert(t, same*1000 >= equalMin*(busy-wrong), "%d of %d are different, in %d of these upstream is wrong", different, busy, wrong)
			}
		})
	}
}

// percent is a part of a number, in words.
func percent(part, of int) string {
	thousandths := part * 1000 / max(1, of)
	return fmt.Sprintf("%d.%d%%", thousandths/10, thousandths%10)
}

// triesMax is how often upstream may try: where it goes through a map, what it does is chance.
const triesMax = 50

// compare plays a world with both. If upstream never does what this descheduler does, the difference is
// that to the first of what it does by name, so that it is the same each time.
func (e *engine) compare(w *world) *difference {
	d := &difference{world: w}
	d.ours, d.why = e.ours(w)
	for i := range triesMax {
		of := theirs(e.t, w, uint64(i))
		if i == 0 || w.names(of) == w.names(d.ours) || w.names(of) < w.names(d.theirs) {
			d.theirs = of
		}
		if w.names(of) == w.names(d.ours) {
			break
		}
	}
	return d
}

// String is the difference, and the world in which it is.
func (d *difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nours   %s\ntheirs %s\n%s", d.reason(), d.names(d.ours), d.names(d.theirs), d.world)
	for _, p := range slices.SortedFunc(maps.Keys(d.why), func(x, y *v1.Pod) int { return strings.Compare(x.Name, y.Name) }) {
		fmt.Fprintln(&b, d.why[p])
	}
	return b.String()
}
