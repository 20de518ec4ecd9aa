package scheduler

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A journal writes one log line per effect, right before the callback that tells
// it. Events are not written: they are a record of their own.
type journal struct {
	log *zap.Logger // with the resource manager
}

// write logs deliveries. A line at a level that is off costs a comparison and no
// memory, which matters for placements.
func (j journal) write(batch []delivery) {
	for _, d := range batch {
		level, text := headline(d.effect)
		if entry := j.log.Check(level, text); entry != nil {
			entry.Write(append(fields(d.effect), zap.String("partition", d.from))...)
		}
	}
}

func headline(effect any) (zapcore.Level, string) {
	switch e := effect.(type) {
	case core.Nomination:
		if e.Node == "" {
			return zap.InfoLevel, "nomination cleared"
		}
		return zap.InfoLevel, "nominated"
	case *si.Allocation:
		return zap.DebugLevel, "allocation placed"
	case *si.AllocationRelease:
		return zap.DebugLevel, "allocation released"
	case *si.RejectedAllocation:
		return zap.WarnLevel, "allocation rejected"
	case *si.AcceptedApplication:
		return zap.InfoLevel, "application accepted"
	case *si.RejectedApplication:
		return zap.WarnLevel, "application rejected"
	case *si.UpdatedApplication:
		return zap.InfoLevel, "application changed state"
	case *si.AcceptedNode:
		return zap.InfoLevel, "node accepted"
	case *si.RejectedNode:
		return zap.WarnLevel, "node rejected"
	case *si.UpdateContainerSchedulingStateRequest:
		return zap.DebugLevel, "allocation waits"
	default:
		return zap.WarnLevel, "input refused without an answer"
	}
}

func fields(effect any) []zap.Field {
	switch e := effect.(type) {
	case *si.Allocation:
		return []zap.Field{zap.String("allocation", e.AllocationKey), zap.String("application", e.ApplicationID), zap.String("node", e.NodeID)}
	case *si.AllocationRelease:
		return []zap.Field{
			zap.String("allocation", e.AllocationKey), zap.String("application", e.ApplicationID),
			zap.Stringer("termination", e.TerminationType), zap.String("message", e.Message),
		}
	case *si.RejectedAllocation:
		return []zap.Field{zap.String("allocation", e.AllocationKey), zap.String("application", e.ApplicationID), zap.String("reason", e.Reason)}
	case *si.AcceptedApplication:
		return []zap.Field{zap.String("application", e.ApplicationID)}
	case *si.RejectedApplication:
		return []zap.Field{zap.String("application", e.ApplicationID), zap.String("reason", e.Reason)}
	case *si.UpdatedApplication:
		return []zap.Field{zap.String("application", e.ApplicationID), zap.String("state", e.State), zap.String("message", e.Message)}
	case *si.AcceptedNode:
		return []zap.Field{zap.String("node", e.NodeID)}
	case *si.RejectedNode:
		return []zap.Field{zap.String("node", e.NodeID), zap.String("reason", e.Reason)}
	case *si.UpdateContainerSchedulingStateRequest:
		return []zap.Field{zap.String("allocation", e.AllocationKey), zap.String("application", e.ApplicationID), zap.String("reason", e.Reason)}
	case core.Nomination:
		list := []zap.Field{zap.String("allocation", string(e.Key)), zap.String("application", string(e.Application)), zap.String("reason", e.Reason)}
		if e.Node != "" {
			list = append(list, zap.String("node", string(e.Node)))
		}
		return list
	case unanswered:
		return []zap.Field{
			zap.String("input", e.what), zap.String("allocation", e.allocation),
			zap.String("application", e.application), zap.String("reason", e.reason),
		}
	default:
		return nil
	}
}

// failed says that a callback returned an error. What the resource manager made
// of the response is not known; it corrects it with requests of its own.
func (j journal) failed(callback string, err error) {
	if err != nil {
		j.log.Warn("callback failed", zap.String("callback", callback), zap.Error(err))
	}
}
