package archive

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

// changesOf writes the changes of a book, the newest first.
func changesOf(b *Book) string {
	var lines []string
	for _, c := range b.Changes() {
		lines = append(lines, fmt.Sprintf("%s %d %d %v %d %s>%s %v +%d", c.At.UTC().Format("15:04:05"), c.Kind, c.Count, c.Names, c.Until.Sub(c.At)/time.Second, c.Before, c.After, c.Lines, c.More))
	}
	return strings.Join(lines, "\n")
}

// TestChanges: what befalls nodes within a minute of the clock is one change for each kind, with the names of the first
// nodes. A partition that begins again has the changes of before.
func TestChanges(t *testing.T) {
	a, err := New(Config{})
	assert.NilError(t, err)
	start := time.Date(2026, 1, 31, 14, 3, 50, 0, time.UTC)
	b := a.Open("p")
	at := func(after time.Duration, effects ...api.Event) {
		b.Observe(events.Step{Now: start.Add(after), Effects: effects})
	}
	at(0, &api.NodeAdded{ID: "n1"}, &api.NodeAdded{ID: "n2"})
	at(5*time.Second, &api.NodeSchedulable{ID: "n2"}, &api.NodeAdded{ID: "n3"}, &api.NodeSchedulable{ID: "n1"})
	at(10*time.Second, &api.NodeAdded{ID: "n4"}, &api.NodeResized{ID: "n1"}, &api.NodeSchedulable{ID: "n2", Schedulable: true})
	at(time.Minute, &api.NodeRemoved{ID: "n1"})
	b.Reconfigured(start.Add(2*time.Minute), "a", "b", []string{"root.a: resources.max.vcore: 10 -> 8"})
	a.Close("p", b)
	b = a.Open("p")
	at(3 * time.Minute)
	assert.Equal(t, changesOf(b), strings.TrimSpace(`
14:06:50 1 0 [] 0 > [] +0
14:05:50 2 0 [] 0 a>b [root.a: resources.max.vcore: 10 -> 8] +0
14:04:50 4 1 [n1] 0 > [] +0
14:04:00 7 1 [n1] 0 > [] +0
14:04:00 6 1 [n2] 0 > [] +0
14:04:00 3 1 [n4] 0 > [] +0
14:03:55 5 2 [n2 n1] 0 > [] +0
14:03:50 3 3 [n1 n2 n3] 5 > [] +0
14:03:50 0 0 [] 0 > [] +0`))
}

// TestAFirstConfigurationIsNoStart: a partition whose configuration is known before anything happens there begins for the first time.
func TestAFirstConfigurationIsNoStart(t *testing.T) {
	a, err := New(Config{})
	assert.NilError(t, err)
	start := time.Date(2026, 1, 31, 14, 0, 0, 0, time.UTC)
	b := a.Open("p")
	b.Reconfigured(start, "", "first", nil)
	b.Observe(events.Step{Now: start.Add(time.Second)})
	assert.Equal(t, changesOf(b), "14:00:01 0 0 [] 0 > [] +0\n14:00:00 2 0 [] 0 >first [] +0")
}

// TestChangesAreBounded: however many nodes come, configurations are sent and partitions are made. A change of nodes
// does not push a configuration out.
func TestChangesAreBounded(t *testing.T) {
	a, err := New(Config{})
	assert.NilError(t, err)
	start := time.Date(2026, 1, 31, 14, 0, 0, 0, time.UTC)
	b := a.Open("p")
	lines := make([]string, changeLinesMax+7)
	b.Reconfigured(start, "", "first", lines)
	for i := range nodeChangesMax + 500 {
		b.Observe(events.Step{Now: start.Add(time.Duration(i) * time.Minute), Effects: api.Effects{&api.NodeAdded{ID: api.NodeID(fmt.Sprint("n", i))}}})
	}
	for i := range 2 * changeNamesMax {
		b.Observe(events.Step{Now: start.Add(9999 * time.Minute), Effects: api.Effects{&api.NodeAdded{ID: api.NodeID(fmt.Sprint("late", i))}}})
	}
	all := b.Changes()
	assert.Equal(t, len(all), nodeChangesMax+2)
	assert.Equal(t, len(all[0].Names), changeNamesMax)
	assert.Equal(t, all[0].Count, 2*changeNamesMax)
	first := all[len(all)-2] // before it is the start
	assert.Equal(t, first.After, "first")
	assert.Equal(t, len(first.Lines), changeLinesMax)
	assert.Equal(t, first.More, 7)
	for range settingsMax + 3 {
		b.Reconfigured(start, "x", "y", nil)
	}
	assert.Equal(t, len(b.Changes()), nodeChangesMax+settingsMax)
	for i := range 3 * changeLogsMax {
		a.Open(fmt.Sprint("p", i))
	}
	assert.Equal(t, len(a.logs), changeLogsMax)
	assert.Assert(t, (*Book)(nil).Changes() == nil)
}
