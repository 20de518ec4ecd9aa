package plugins

import (
	"errors"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/evictable"
)

// fullLanding has no room anywhere, at once: so that plugins are measured and not where
// pods go.
type fullLanding struct{}

var errFull = errors.New("no room")

func (fullLanding) Place(*v1.Pod, framework.Choice) (framework.Place, error) {
	return framework.Place{}, errFull
}
func (fullLanding) Book(*v1.Pod, string) error        { return errFull }
func (fullLanding) Bookings() (b []framework.Booking) { return b }

// largeHandle is a handle over a cluster for which no Checker is made.
type largeHandle struct {
	*ft.Handle
	snapshot *framework.Snapshot
	usage    framework.Usage
}

func (h *largeHandle) Snapshot() *framework.Snapshot { return h.snapshot }
func (h *largeHandle) Landing() framework.Landing    { return fullLanding{} }
func (h *largeHandle) Usage() framework.Usage        { return h.usage }

// burstable is what the kubelet says.
func burstable(p *v1.Pod) { p.Status.QOSClass = v1.PodQOSBurstable }

// large has pods of owners with twenty pods each, each with a constraint.
func large(nodes, pods int) framework.Objects {
	var o framework.Objects
	for i := range nodes {
		o.Nodes = append(o.Nodes, ft.Node(fmt.Sprintf("n%05d", i), "", fmt.Sprintf("zone=%d disk=%d", i%3, i%2)))
	}
	for i := range pods {
		number := i / 20
		app := fmt.Sprintf("app=app%d", number)
		edits := []func(*v1.Pod){ft.Labelled(app), ft.Owned("ReplicaSet/" + app), ft.Aged(time.Minute), ft.Restarts(1), burstable}
		switch number % 5 {
		case 0:
			edits = append(edits, ft.Spread(app, "zone", 1, v1.DoNotSchedule), ft.Spread(app, v1.LabelHostname, 1, v1.ScheduleAnyway))
		case 1:
			edits = append(edits, ft.Apart(app, v1.LabelHostname))
		case 2:
			edits = append(edits, ft.Prefers("disk", "1", 5))
		case 3:
			edits = append(edits, ft.OnNodes("disk", "1"))
		}
		o.Pods = append(o.Pods, ft.Pod(fmt.Sprintf("ns%d/p%06d", number%50, i), o.Nodes[(i*7919+number)%nodes].Name, "cpu=100m memory=200Mi", edits...))
	}
	return o
}

func BenchmarkPlugins(b *testing.B) {
	o := large(5000, 100_000)
	base := ft.NewHandle(b, framework.Objects{}, ft.Options{})
	use := useOf(o)
	snapshot := framework.NewSnapshot(o, ft.Now)
	for i, s := range setups() {
		b.Run(fmt.Sprintf("%02d-%s", i, s.of.Name), func(b *testing.B) {
			h := &largeHandle{Handle: base, snapshot: snapshot, usage: use}
			args := s.args
			if args == nil {
				args = s.of.Args()
			}
			filter, err := evictable.Definition().New(b.Context(), evictable.DefaultArgs(), h)
			if err != nil {
				b.Fatal(err)
			}
			base.Use(filter)
			p, err := s.of.New(b.Context(), args, h)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				switch p := p.(type) {
				case framework.DeschedulePlugin:
					p.Deschedule(b.Context(), snapshot.Nodes())
				case framework.BalancePlugin:
					p.Balance(b.Context(), snapshot.Nodes())
				}
			}
		})
	}
}
