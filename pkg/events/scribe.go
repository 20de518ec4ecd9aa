package events

import (
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Step is what a partition did at once: the answer to one command, or, with a
// nil Command, what one call of Schedule decided. Effects that come from
// elsewhere, such as refusals of what no partition saw, are a step without a
// command as well.
type Step struct {
	Now     time.Time // that the partition was given
	Command core.Command
	Effects core.Effects // all of them, in order
}

// A Scribe turns the steps of one partition into event records. It must be
// shown every step, in order, from the first configuration on, which is a step
// with a core.Reconfigure of its own: a release names neither node nor amounts,
// so the scribe remembers what waits and what runs where.
//
//	requests = what waits or runs in the partition, foreign ones left out
//	a request is in the list of its application
//
// What the core records itself is passed on as it is. A Scribe belongs to one
// goroutine. Of a step it keeps strings, resources and the configuration, none
// of which anybody changes.
type Recorder struct {
	kinds        *resources.Kinds
	root         *core.QueueConfig // nil before the first configuration
	applications map[core.ApplicationID]*application
	requests     map[core.AllocationKey]*request
	lately       asked
	sizes        sizes

	records []*si.EventRecord // of the step under way
	now     int64             // nanoseconds
	quiet   bool              // the step under way is only followed
}

// NewScribe makes a scribe for a partition with nothing in it. The table of
// kinds is that of the partition.
func NewRecorder(kinds *resources.Kinds) *Recorder {
	return &Recorder{
		kinds:        kinds,
		applications: map[core.ApplicationID]*application{},
		requests:     map[core.AllocationKey]*request{},
		sizes:        sizes{of: map[string]*si.Resource{}, all: map[string]int64{}},
	}
}

// Tell appends the records of a step, in the order in which things happened.
func (s *Recorder) Record(records []*si.EventRecord, step Step) []*si.EventRecord {
	s.records, s.quiet = records, false
	s.take(step)
	records, s.records = s.records, nil
	return records
}

// Follow takes notice of a step without a word, for as long as nobody listens.
func (s *Recorder) Skip(step Step) {
	s.quiet = true
	s.take(step)
}

// take goes through a step in the order of the core: what a command takes away,
// what it causes, and what is there in the end.
func (s *Recorder) take(step Step) {
	s.now = step.Now.UnixNano()
	switch c := step.Command.(type) {
	case core.Reconfigure:
		s.configured(&c.Config.Root)
	case core.ReleaseAllocation:
		s.released(c)
	case core.RemoveApplication:
		s.removing(c.ID)
	}
	for _, effect := range step.Effects {
		s.caused(step.Command, effect)
	}
	switch c := step.Command.(type) {
	case core.AddAllocation:
		if !refused(step.Effects, c.Allocation.Key) {
			s.added(c.Allocation)
		}
	case core.RemoveApplication:
		s.gone(c.ID)
	}
}

func (s *Recorder) caused(command core.Command, effect any) {
	switch e := effect.(type) {
	case *si.EventRecord:
		s.say(e)
		s.sized(e)
	case *si.Allocation:
		s.placed(e)
	case *si.AllocationRelease:
		// Any other type asks the resource manager to end the allocation, which
		// runs until it says so.
		if e.TerminationType == si.TerminationType_STOPPED_BY_RM {
			s.ended(core.AllocationKey(e.AllocationKey), endOf(command), e.Message)
		}
	case *si.AcceptedApplication:
		s.accepted(command, core.ApplicationID(e.ApplicationID))
	case *si.RejectedApplication:
		s.rejected(e)
	case *si.UpdatedApplication:
		s.entered(e)
	case *si.UpdateContainerSchedulingStateRequest:
		s.waits(e)
	}
}

// endOf is how allocations end that a command takes away, as far as the command
// does not say itself.
func endOf(command core.Command) si.EventRecord_ChangeDetail {
	if _, ok := command.(core.RemoveNode); ok {
		return si.EventRecord_ALLOC_NODEREMOVED
	}
	return si.EventRecord_ALLOC_CANCEL
}

func refused(effects core.Effects, key core.AllocationKey) bool {
	for _, effect := range effects {
		if e, ok := effect.(*si.RejectedAllocation); ok && e.AllocationKey == string(key) {
			return true
		}
	}
	return false
}

// say adds a record as it is.
func (s *Recorder) say(record *si.EventRecord) {
	if !s.quiet {
		s.records = append(s.records, record)
	}
}

// stamp adds a record of this step.
func (s *Recorder) stamp(record *si.EventRecord) {
	record.TimestampNano = s.now
	s.say(record)
}
