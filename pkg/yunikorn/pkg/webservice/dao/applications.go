package dao

import "time"

// An ApplicationDAOInfo is an application. Times are nanoseconds since 1970, but StartTime,
// which is milliseconds.
type ApplicationDAOInfo struct {
	ApplicationID      string                  `json:"applicationID"`
	UsedResource       map[string]int64        `json:"usedResource,omitempty"`
	MaxUsedResource    map[string]int64        `json:"maxUsedResource,omitempty"`
	PendingResource    map[string]int64        `json:"pendingResource,omitempty"`
	Partition          string                  `json:"partition"`
	QueueName          string                  `json:"queueName"`
	SubmissionTime     int64                   `json:"submissionTime,omitempty"`
	FinishedTime       *int64                  `json:"finishedTime,omitempty"`
	Requests           []*AllocationAskDAOInfo `json:"requests,omitempty"`
	Allocations        []*AllocationDAOInfo    `json:"allocations,omitempty"`
	State              string                  `json:"applicationState,omitempty"`
	User               string                  `json:"user,omitempty"`
	Groups             []string                `json:"groups,omitempty"`
	RejectedMessage    string                  `json:"rejectedMessage,omitempty"`
	StateLog           []*StateDAOInfo         `json:"stateLog,omitempty"`
	PlaceholderData    []*PlaceholderDAOInfo   `json:"placeholderData,omitempty"`
	HasReserved        bool                    `json:"hasReserved,omitempty"`
	Reservations       []string                `json:"reservations,omitempty"`
	MaxRequestPriority int32                   `json:"maxRequestPriority,omitempty"`
	StartTime          int64                   `json:"startTime,omitempty"`
	ResourceHistory    ResourceHistory         `json:"resourceHistory,omitempty"`
	BackoffDeadline    *time.Time              `json:"backoffDeadline,omitempty"`
}

// A StateDAOInfo is a state of an application and when it began.
type StateDAOInfo struct {
	Time             int64  `json:"time,omitempty"`
	ApplicationState string `json:"applicationState,omitempty"`
}

// A PlaceholderDAOInfo counts the placeholders of a task group.
type PlaceholderDAOInfo struct {
	TaskGroupName string           `json:"taskGroupName,omitempty"`
	Count         int64            `json:"count,omitempty"`
	MinResource   map[string]int64 `json:"minResource,omitempty"`
	Replaced      int64            `json:"replaced,omitempty"`
	TimedOut      int64            `json:"timedout,omitempty"`
}

// A ResourceHistory is what an application used: amounts times seconds, by type of instance
// and kind.
type ResourceHistory struct {
	ResourceUsage       map[string]map[string]int64 `json:"resourceUsage,omitempty"`
	PreemptedResource   map[string]map[string]int64 `json:"preemptedResource,omitempty"`
	PlaceholderResource map[string]map[string]int64 `json:"placeholderResource,omitempty"`
}

// An AllocationDAOInfo is an allocation.
type AllocationDAOInfo struct {
	AllocationKey    string            `json:"allocationKey"`
	AllocationTags   map[string]string `json:"allocationTags,omitempty"`
	RequestTime      int64             `json:"requestTime,omitempty"`
	AllocationTime   int64             `json:"allocationTime,omitempty"`
	AllocationDelay  int64             `json:"allocationDelay,omitempty"`
	ResourcePerAlloc map[string]int64  `json:"resource,omitempty"`
	Priority         string            `json:"priority,omitempty"`
	NodeID           string            `json:"nodeId,omitempty"`
	ApplicationID    string            `json:"applicationId,omitempty"`
	Placeholder      bool              `json:"placeholder,omitempty"`
	PlaceholderUsed  bool              `json:"placeholderUsed,omitempty"`
	TaskGroupName    string            `json:"taskGroupName,omitempty"`
	Preempted        bool              `json:"preempted,omitempty"`
	Originator       bool              `json:"originator,omitempty"`
}

// A ForeignAllocationDAOInfo is an allocation of another scheduler.
type ForeignAllocationDAOInfo struct {
	AllocationKey    string            `json:"allocationKey"`
	AllocationTags   map[string]string `json:"allocationTags,omitempty"`
	AllocationTime   int64             `json:"allocationTime,omitempty"`
	ResourcePerAlloc map[string]int64  `json:"resource,omitempty"`
	Priority         string            `json:"priority,omitempty"`
	NodeID           string            `json:"nodeId,omitempty"`
	Preemptable      bool              `json:"preemptable,omitempty"`
}

// An AllocationAskDAOInfo is an ask that waits.
type AllocationAskDAOInfo struct {
	AllocationKey       string                     `json:"allocationKey"`
	AllocationTags      map[string]string          `json:"allocationTags,omitempty"`
	RequestTime         int64                      `json:"requestTime,omitempty"`
	ResourcePerAlloc    map[string]int64           `json:"resource,omitempty"`
	Priority            string                     `json:"priority,omitempty"`
	RequiredNodeID      string                     `json:"requiredNodeId,omitempty"`
	ApplicationID       string                     `json:"applicationId,omitempty"`
	Placeholder         bool                       `json:"placeholder,omitempty"`
	TaskGroupName       string                     `json:"taskGroupName,omitempty"`
	AllocationLog       []*AllocationAskLogDAOInfo `json:"allocationLog,omitempty"`
	TriggeredPreemption bool                       `json:"triggeredPreemption,omitempty"`
	Originator          bool                       `json:"originator,omitempty"`
	SchedulingAttempted bool                       `json:"schedulingAttempted,omitempty"`
	TriggeredScaleUp    bool                       `json:"triggeredScaleUp,omitempty"`
}

// An AllocationAskLogDAOInfo is a reason why an ask waits.
type AllocationAskLogDAOInfo struct {
	Message        string `json:"message,omitempty"`
	LastOccurrence int64  `json:"lastOccurrence,omitempty"`
	Count          int32  `json:"count,omitempty"`
}
