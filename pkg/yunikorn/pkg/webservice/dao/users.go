package dao

// A UserResourceUsageDAOInfo is what a user has.
type UserResourceUsageDAOInfo struct {
	UserName string                `json:"userName"`
	Groups   map[string]string     `json:"groups,omitempty"` // by application
	Queues   *ResourceUsageDAOInfo `json:"queues"`
}

// A GroupResourceUsageDAOInfo is what a group has.
type GroupResourceUsageDAOInfo struct {
	GroupName    string                `json:"groupName"`
	Applications []string              `json:"applications,omitempty"`
	Queues       *ResourceUsageDAOInfo `json:"queues"`
}

// A ResourceUsageDAOInfo is what is used in a queue and below it.
type ResourceUsageDAOInfo struct {
	QueuePath           string                  `json:"queuePath"`
	ResourceUsage       map[string]int64        `json:"resourceUsage,omitempty"`
	RunningApplications []string                `json:"runningApplications,omitempty"`
	MaxResources        map[string]int64        `json:"maxResources,omitempty"`
	MaxApplications     uint64                  `json:"maxApplications,omitempty"`
	Children            []*ResourceUsageDAOInfo `json:"children,omitempty"`
}
