package scheduler

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
)

// An effectLog writes one log line for each message, right before the callback with
// it. Event records are not written: they are a record of their own.
type effectLog struct {
	of       [len(headlines)]*zap.Logger // by kind of message, with the resource manager
	requests *zap.Logger
}

func newEffectLog(l *loggers, resourceManager string) effectLog {
	id := zap.String("resourceManager", resourceManager)
	out := effectLog{requests: l.of(logRequests).With(id)}
	for kind, head := range headlines {
		if head.logger != "" {
			out.of[kind] = l.of(head.logger).With(id)
		}
	}
	return out
}

// write logs deliveries. A line at a level that is off costs a comparison and no
// memory, which matters for placements.
func (l effectLog) write(batch []delivery) {
	for _, d := range batch {
		head := headlines[d.kind]
		if entry := l.of[d.kind].Check(head.level, head.text); entry != nil {
			entry.Write(append(fieldsOf(d.what()), zap.String("partition", d.step.from.name))...)
		}
	}
}

// headlines are the logger, the level and the text of each kind of message.
var headlines = [...]struct {
	logger string
	level  zapcore.Level
	text   string
}{
	placedMessage:              {logAllocations, zap.DebugLevel, "allocation placed"},
	adoptedMessage:             {logAllocations, zap.DebugLevel, "allocation adopted"},
	releasedMessage:            {logAllocations, zap.DebugLevel, "allocation released"},
	allocationRejectedMessage:  {logAllocations, zap.WarnLevel, "allocation rejected"},
	applicationAcceptedMessage: {logApplications, zap.InfoLevel, "application accepted"},
	applicationRejectedMessage: {logApplications, zap.WarnLevel, "application rejected"},
	applicationChangedMessage:  {logApplications, zap.InfoLevel, "application changed state"},
	nodeAcceptedMessage:        {logNodes, zap.InfoLevel, "node accepted"},
	nodeRejectedMessage:        {logNodes, zap.WarnLevel, "node rejected"},
	unschedulableMessage:       {logAllocations, zap.DebugLevel, "allocation waits"},
	nominatedMessage:           {logPreemption, zap.InfoLevel, "nominated"},
	nominationClearedMessage:   {logPreemption, zap.InfoLevel, "nomination cleared"},
	waitsMessage:               {logAllocations, zap.DebugLevel, "allocation waits"},
	groupMessage:               {logApplications, zap.DebugLevel, "group changed state"},
	unansweredMessage:          {logRequests, zap.WarnLevel, "input refused without an answer"},
}

func fieldsOf(what any) []zap.Field {
	switch e := what.(type) {
	case api.Placed, api.Adopted:
		a := placedOf(e)
		return append(namesOf(a), zap.String("node", string(a.Node)))
	case *api.Ended, *api.EvictionRequested, *api.ReleaseRequested:
		a, why, text := releasedOf(e)
		return append(namesOf(a), zap.Stringer("termination", why), zap.String("message", text))
	case *api.AllocationRejected:
		return []zap.Field{
			zap.String("allocation", string(e.Key)), zap.String("application", string(e.Application)), zap.String("reason", e.Reason),
		}
	case *api.ApplicationAccepted:
		return []zap.Field{zap.String("application", string(e.ID))}
	case *api.ApplicationRejected:
		return []zap.Field{zap.String("application", string(e.ID)), zap.String("reason", e.Reason)}
	case *api.ApplicationChanged:
		return []zap.Field{zap.String("application", string(e.ID)), zap.Stringer("state", e.State), zap.String("message", e.Message)}
	case *api.GroupChanged:
		return []zap.Field{zap.String("group", e.Name), zap.Stringer("state", e.State), zap.String("message", e.Text())}
	case *api.NodeAdded:
		return []zap.Field{zap.String("node", string(e.ID))}
	case *api.NodeRejected:
		return []zap.Field{zap.String("node", string(e.ID)), zap.String("reason", e.Reason)}
	case *api.Unschedulable:
		return append(namesOf(e.Allocation), zap.String("reason", e.Reason))
	case *reports.AskWaits:
		return append(namesOf(e.Allocation), zap.String("reason", e.Message))
	case *api.AskReport:
		return append(namesOf(e.Allocation), zap.String("reason", e.Message))
	case *api.Claimed:
		return append(namesOf(e.Allocation), zap.String("reason", e.Reason), zap.String("node", string(e.Node)))
	case *api.ClaimEnded:
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
func namesOf(a *api.Allocation) []zap.Field {
	return []zap.Field{zap.String("allocation", string(a.Key)), zap.String("application", string(a.Application))}
}

// failed says that a callback returned an error. What the resource manager made
// of the response is not known; it corrects it with requests of its own.
func (l effectLog) failed(callback string, err error) {
	if err != nil {
		l.requests.Warn("callback failed", zap.String("callback", callback), zap.Error(err))
	}
}
