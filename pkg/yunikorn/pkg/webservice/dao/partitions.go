package dao

// A ClusterDAOInfo is a partition as one of a cluster.
type ClusterDAOInfo struct {
	StartTime          int64               `json:"startTime,omitempty"`
	RMBuildInformation []map[string]string `json:"rmBuildInformation,omitempty"`
	PartitionName      string              `json:"partition"`
	ClusterName        string              `json:"clusterName"`
}

// A PartitionInfo is a partition in sums.
type PartitionInfo struct {
	ClusterID               string            `json:"clusterId"`
	Name                    string            `json:"name"`
	Capacity                PartitionCapacity `json:"capacity"`
	NodeSortingPolicy       NodeSortingPolicy `json:"nodeSortingPolicy"`
	PreemptionEnabled       bool              `json:"preemptionEnabled"`
	QuotaPreemptionEnabled  bool              `json:"quotaPreemptionEnabled"`
	TotalNodes              int               `json:"totalNodes,omitempty"`
	Applications            map[string]int    `json:"applications,omitempty"` // by state, and in total
	TotalContainers         int               `json:"totalContainers,omitempty"`
	State                   string            `json:"state,omitempty"`
	LastStateTransitionTime int64             `json:"lastStateTransitionTime,omitempty"`
}

// A PartitionCapacity is what a partition has and uses.
type PartitionCapacity struct {
	Capacity     map[string]int64 `json:"capacity,omitempty"`
	UsedCapacity map[string]int64 `json:"usedCapacity,omitempty"`
	Utilization  map[string]int64 `json:"utilization,omitempty"` // percent
}

// A NodeSortingPolicy orders nodes.
type NodeSortingPolicy struct {
	Type            string             `json:"type,omitempty"`
	ResourceWeights map[string]float64 `json:"resourceWeights,omitempty"`
}

// A PartitionQueueDAOInfo is a queue, with what is below it where that was asked for.
type PartitionQueueDAOInfo struct {
	QueueName                string                  `json:"queuename"` // the whole path
	Status                   string                  `json:"status,omitempty"`
	Partition                string                  `json:"partition"`
	PendingResource          map[string]int64        `json:"pendingResource,omitempty"`
	MaxResource              map[string]int64        `json:"maxResource,omitempty"`
	GuaranteedResource       map[string]int64        `json:"guaranteedResource,omitempty"`
	AllocatedResource        map[string]int64        `json:"allocatedResource,omitempty"`
	PreemptingResource       map[string]int64        `json:"preemptingResource,omitempty"`
	HeadRoom                 map[string]int64        `json:"headroom,omitempty"`
	IsLeaf                   bool                    `json:"isLeaf"`
	IsManaged                bool                    `json:"isManaged"`
	Properties               map[string]string       `json:"properties,omitempty"`
	Parent                   string                  `json:"parent,omitempty"`
	TemplateInfo             *TemplateInfo           `json:"template,omitempty"`
	Children                 []PartitionQueueDAOInfo `json:"children,omitempty"`
	ChildNames               []string                `json:"childNames,omitempty"`
	AbsUsedCapacity          map[string]int64        `json:"absUsedCapacity,omitempty"` // percent of its own max
	MaxRunningApps           uint64                  `json:"maxRunningApps,omitempty"`
	RunningApps              uint64                  `json:"runningApps,omitempty"`
	CurrentPriority          int32                   `json:"currentPriority"`
	AllocatingAcceptedApps   []string                `json:"allocatingAcceptedApps,omitempty"`
	SortingPolicy            string                  `json:"sortingPolicy,omitempty"`
	PrioritySorting          bool                    `json:"prioritySorting"`
	PreemptionEnabled        bool                    `json:"preemptionEnabled"`
	IsPreemptionFence        bool                    `json:"isPreemptionFence"`
	PreemptionDelay          string                  `json:"preemptionDelay,omitempty"`
	QuotaPreemptionDelay     string                  `json:"quotaPreemptionDelay,omitempty"`
	IsQuotaPreemptionRunning bool                    `json:"isQuotaPreemptionRunning"`
	QuotaPreemptionStartTime *int64                  `json:"quotaPreemptionStartTime,omitempty"`
	IsPriorityFence          bool                    `json:"isPriorityFence"`
	PriorityOffset           int32                   `json:"priorityOffset,omitempty"`
	UnschedAskBackoff        uint64                  `json:"unschedAskBackoff,omitempty"`
	AskBackoffDelay          string                  `json:"askBackoffDelay,omitempty"`
}

// A TemplateInfo is what dynamic leaf queues begin with.
type TemplateInfo struct {
	MaxApplications    uint64            `json:"maxApplications,omitempty"`
	MaxResource        map[string]int64  `json:"maxResource,omitempty"`
	GuaranteedResource map[string]int64  `json:"guaranteedResource,omitempty"`
	Properties         map[string]string `json:"properties,omitempty"`
}

// A RuleDAO is a placement rule.
type RuleDAO struct {
	Name       string            `json:"name"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Filter     *FilterDAO        `json:"filter,omitempty"`
	ParentRule *RuleDAO          `json:"parentRule,omitempty"`
}

// A FilterDAO says to which users a rule applies.
type FilterDAO struct {
	Type      string   `json:"type"`
	UserList  []string `json:"userList,omitempty"`
	GroupList []string `json:"groupList,omitempty"`
	UserExp   string   `json:"userExp,omitempty"`
	GroupExp  string   `json:"groupExp,omitempty"`
}

// A RuleDAOInfo is the placement rules of one partition.
type RuleDAOInfo struct {
	Partition string     `json:"partition"`
	Rules     []*RuleDAO `json:"rules"`
}
