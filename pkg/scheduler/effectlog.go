package scheduler

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// An effectLog writes one log line for each message, right before the callback with
// it. Event records are not written: they are a record of their own.
type effectLog struct {
	logger *zap.Logger // with the resource manager
}

// write logs deliveries. A line at a level that is off costs a comparison and no
// memory, which matters for placements.
func (l effectLog) write(batch []delivery) {
	for _, d := range batch {
		head := headlines[d.kind]
		if entry := l.logger.Check(head.level, head.text); entry != nil {
			entry.Write(append(fieldsOf(d.what), zap.String("partition", d.step.from.name))...)
		}
	}
}

// headlines are the level and the text of each kind of message.
var headlines = [...]struct {
	level zapcore.Level
	text  string
}{
	placedMessage:              {zap.DebugLevel, "allocation placed"},
	releasedMessage:            {zap.DebugLevel, "allocation released"},
	allocationRejectedMessage:  {zap.WarnLevel, "allocation rejected"},
	applicationAcceptedMessage: {zap.InfoLevel, "application accepted"},
	applicationRejectedMessage: {zap.WarnLevel, "application rejected"},
	applicationChangedMessage:  {zap.InfoLevel, "application changed state"},
	nodeAcceptedMessage:        {zap.InfoLevel, "node accepted"},
	nodeRejectedMessage:        {zap.WarnLevel, "node rejected"},
	unschedulableMessage:       {zap.DebugLevel, "allocation waits"},
	nominatedMessage:           {zap.InfoLevel, "nominated"},
	nominationClearedMessage:   {zap.InfoLevel, "nomination cleared"},
	unansweredMessage:          {zap.WarnLevel, "input refused without an answer"},
}

func fieldsOf(what any) []zap.Field {
	switch e := what.(type) {
	case core.Placed, core.Adopted:
		a := placedOf(e)
		return append(namesOf(a), zap.String("node", string(a.Node)))
	case *core.Ended, *core.EvictionRequested, *core.ReleaseRequested:
		a, why, text := releasedOf(e)
		return append(namesOf(a), zap.Stringer("termination", why), zap.String("message", text))
	case *core.AllocationRejected:
		return []zap.Field{
			zap.String("allocation", string(e.Key)), zap.String("application", string(e.Application)), zap.String("reason", e.Reason),
		}
	case *core.ApplicationAccepted:
		return []zap.Field{zap.String("application", string(e.ID))}
	case *core.ApplicationRejected:
		return []zap.Field{zap.String("application", string(e.ID)), zap.String("reason", e.Reason)}
	case *core.ApplicationChanged:
		return []zap.Field{zap.String("application", string(e.ID)), zap.Stringer("state", e.State), zap.String("message", e.Message)}
	case *core.NodeAdded:
		return []zap.Field{zap.String("node", string(e.ID))}
	case *core.NodeRejected:
		return []zap.Field{zap.String("node", string(e.ID)), zap.String("reason", e.Reason)}
	case *core.Unschedulable:
		return append(namesOf(e.Allocation), zap.String("reason", e.Reason))
	case *core.Nominated:
		return append(namesOf(e.Allocation), zap.String("reason", e.Reason), zap.String("node", string(e.Node)))
	case *core.NominationEnded:
		return append(namesOf(e.Allocation), zap.String("reason", e.Text()))
	case *unanswered:
		return []zap.Field{
			zap.String("input", e.input), zap.String("allocation", e.allocation),
			zap.String("application", e.application), zap.String("reason", e.reason),
		}
	default:
		return nil
	}
}

// namesOf are the fields that name an allocation.
func namesOf(a *core.Allocation) []zap.Field {
	return []zap.Field{zap.String("allocation", string(a.Key)), zap.String("application", string(a.Application))}
}

// failed says that a callback returned an error. What the resource manager made
// of the response is not known; it corrects it with requests of its own.
func (l effectLog) failed(callback string, err error) {
	if err != nil {
		l.logger.Warn("callback failed", zap.String("callback", callback), zap.Error(err))
	}
}
