package scheduler

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
)

// waitReasons are the words for reasons. Those that nodes may help stand for asks which are not known to be helped.
var waitReasons = map[api.Reason]WaitReason{
	api.NotTried:          WaitsForTurn,
	api.QuotaExceeded:     WaitsForQuota,
	api.NoNodeFits:        WaitsForRoom,
	api.Infeasible:        WaitsForRoom,
	api.BindFailed:        WaitsForBinding,
	api.NodeUnknown:       WaitsForItsNode,
	api.NodeFull:          WaitsForItsNode,
	api.NodeHeld:          WaitsForItsNode,
	api.RoomIsMade:        WaitsForVictims,
	api.LoopStopped:       WaitsForRoom,
	api.KindUnknown:       WaitsForRoom,
	api.AwaitsPlaceholder: WaitsForGroup,
	api.AwaitsReplacement: WaitsForGroup,
	api.AwaitsGang:        WaitsForGroup,
	api.UserLimit:         WaitsForLimit,
	api.GroupLimit:        WaitsForLimit,
	api.QueueApplications: WaitsForApplications,
	api.UserApplications:  WaitsForApplications,
	api.GroupApplications: WaitsForApplications,
	api.Impossible:        WaitsForRoom,
	api.GroupBelow:        WaitsForGroup,
}

// groupStates are the words for what groups do.
var groupStates = [...]GroupState{api.GroupWaits: GroupWaits, api.GroupRuns: GroupRuns, api.GroupIsBelow: GroupBelowMinimum}

// waitsOf is the message of an event of kind waitsMessage. An AskReport is about the required node of an ask.
func waitsOf(event any) *AskWaitsArgs {
	switch e := event.(type) {
	case *reports.AskWaits:
		args := &AskWaitsArgs{AllocationKey: string(e.Key), Reason: waitReasons[e.Reason], Message: e.Message}
		if e.MoreNodes {
			args.Reason = WaitsForNodes
		}
		return args
	case *api.AskReport:
		return &AskWaitsArgs{AllocationKey: string(e.Key), Reason: WaitsForItsNode, Message: e.Message}
	default:
		return new(AskWaitsArgs)
	}
}
