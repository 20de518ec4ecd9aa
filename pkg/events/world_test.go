package events_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

var start = time.Unix(1_800_000_000, 0)

// A world is a partition and the recorder that is shown its steps.
type world struct {
	t         *testing.T
	kinds     *resources.Kinds
	partition *core.Partition
	reports   *reports.Book
	recorder  *events.Recorder
	now       time.Time
}

func newWorld(t *testing.T, config api.Config) *world {
	kinds := new(resources.Kinds)
	for _, name := range []string{resources.VCore, resources.Memory} {
		_, err := kinds.Intern(name)
		assert.NilError(t, err)
	}
	p := core.NewPartition(api.Options{Kinds: kinds}, config)
	return &world{
		t: t, kinds: kinds, now: start, recorder: events.NewRecorder(kinds), partition: p, reports: reports.NewBook(p, kinds),
	}
}

// apply carries out a command and returns the records of it, one a line.
func (w *world) apply(c api.Command) string {
	return w.record(w.reports.Observe(w.now, w.partition.Apply(w.now, c))...)
}

// after lets time go by and schedules.
func (w *world) after(d time.Duration) string {
	w.now = w.now.Add(d)
	said := ""
	for more := true; more; {
		var effects api.Effects
		effects, more = w.partition.Schedule(w.now)
		said += w.record(w.reports.Scheduled(w.now, effects)...)
	}
	return said
}

// record is the records of a step, one a line.
func (w *world) record(effects ...api.Event) string {
	records := w.recorder.Record(nil, events.Step{Now: w.now, Effects: effects})
	for _, r := range records {
		assert.Equal(w.t, r.TimestampNano, w.now.UnixNano())
	}
	return lines(records)
}

func lines(records []*si.EventRecord) string {
	var text strings.Builder
	for _, r := range records {
		text.WriteString(line(r) + "\n")
	}
	return text.String()
}

// line is a record for people: type, object, change, detail, reference,
// resource and message.
func line(r *si.EventRecord) string {
	words := []string{r.Type.String(), r.ObjectID, r.EventChangeType.String()}
	if r.EventChangeDetail != si.EventRecord_DETAILS_NONE {
		words = append(words, r.EventChangeDetail.String())
	}
	if r.ReferenceID != "" {
		words = append(words, r.ReferenceID)
	}
	if r.Resource != nil {
		var quantities []string
		for _, name := range slices.Sorted(maps.Keys(r.Resource.Resources)) {
			quantities = append(quantities, fmt.Sprintf("%s=%d", name, r.Resource.Resources[name].Value))
		}
		words = append(words, "{"+strings.Join(quantities, " ")+"}")
	}
	if r.Message != "" {
		words = append(words, fmt.Sprintf("%q", r.Message))
	}
	return strings.Join(words, " ")
}

// says compares records with what is expected, one a line.
func (w *world) says(got, want string) {
	w.t.Helper()
	want = strings.ReplaceAll(strings.TrimSpace(want), "\t", "")
	assert.Equal(w.t, strings.TrimSpace(got), want)
}

func leaf(name string) api.QueueConfig { return api.QueueConfig{Name: name} }

func tree(queues ...api.QueueConfig) api.Config {
	return api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: queues}}
}

func amounts(vcore, memory int64) resources.Amounts { return resources.Amounts{vcore, memory} }

func ask(app, key string, vcore int64) api.AddAllocation {
	return api.AddAllocation{Allocation: &api.Allocation{
		Key: api.AllocationKey(key), Application: api.ApplicationID(app), Amounts: amounts(vcore, 0), Created: start,
	}}
}

func release(app, key string, why si.TerminationType) api.ReleaseAllocation {
	return api.ReleaseAllocation{Application: api.ApplicationID(app), Key: api.AllocationKey(key), Termination: why}
}
