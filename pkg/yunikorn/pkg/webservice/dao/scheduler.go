package dao

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/apache/yunikorn-core/pkg/common/configs"
)

// A YAPIError is the body of an answer that says what is wrong with a request.
type YAPIError struct {
	StatusCode  int    `json:"status_code"`
	Message     string `json:"message"`
	Description string `json:"description"`
}

// A ConfigDAOInfo is the configuration in use, with the further settings.
type ConfigDAOInfo struct {
	*configs.SchedulerConfig `yaml:",inline"`

	Extra                    map[string]string `json:",omitempty" yaml:",omitempty"`
	DeadlockDetectionEnabled bool              `json:",omitempty" yaml:",omitempty"`
	DeadlockTimeoutSeconds   int               `json:",omitempty" yaml:",omitempty"`
}

// A ValidateConfResponse says whether a configuration would be taken.
type ValidateConfResponse struct {
	Allowed       bool   `json:"allowed"`
	Reason        string `json:"reason,omitempty"`
	Checksum      string `json:"checksum,omitempty"`
	ChecksumMatch bool   `json:"checksumMatch,omitempty"`
}

// A SchedulerHealthDAOInfo is the health of the scheduler.
type SchedulerHealthDAOInfo struct {
	Healthy      bool
	HealthChecks []HealthCheckInfo
}

// A HealthCheckInfo is one check of it.
type HealthCheckInfo struct {
	Name             string
	Succeeded        bool
	Description      string
	DiagnosisMessage string
}

// An EventRecordDAO is a page of events.
type EventRecordDAO struct {
	InstanceUUID string
	LowestID     uint64
	HighestID    uint64
	EventRecords []*si.EventRecord
}

// A YunikornID is the first line of a stream of events.
type YunikornID struct {
	InstanceUUID string
}

// An ApplicationHistoryDAOInfo is how many applications ran at a moment.
type ApplicationHistoryDAOInfo struct {
	Timestamp         int64  `json:"timestamp"`
	TotalApplications string `json:"totalApplications"`
}

// A ContainerHistoryDAOInfo is how many allocations there were at a moment.
type ContainerHistoryDAOInfo struct {
	Timestamp       int64  `json:"timestamp"`
	TotalContainers string `json:"totalContainers"`
}

// An EventStreamDAOInfo is a reader of the stream of events.
type EventStreamDAOInfo struct {
	Name      string
	CreatedAt int64
}

// An AggregatedStateInfo is the whole state.
type AggregatedStateInfo struct {
	Timestamp        int64                        `json:"timestamp"`
	Partitions       []*PartitionInfo             `json:"partitions,omitempty"`
	Applications     []*ApplicationDAOInfo        `json:"applications,omitempty"`
	AppHistory       []*ApplicationHistoryDAOInfo `json:"appHistory,omitempty"`
	Nodes            []*NodesDAOInfo              `json:"nodes,omitempty"`
	ClusterInfo      []*ClusterDAOInfo            `json:"clusterInfo,omitempty"`
	ContainerHistory []*ContainerHistoryDAOInfo   `json:"containerHistory,omitempty"`
	Queues           []PartitionQueueDAOInfo      `json:"queues,omitempty"`
	RMDiagnostics    map[string]any               `json:"rmDiagnostics,omitempty"`
	LogLevel         string                       `json:"logLevel,omitempty"`
	Config           *ConfigDAOInfo               `json:"config,omitempty"`
	PlacementRules   []*RuleDAOInfo               `json:"placementRules,omitempty"`
	EventStreams     []EventStreamDAOInfo         `json:"eventStreams,omitempty"`
}
