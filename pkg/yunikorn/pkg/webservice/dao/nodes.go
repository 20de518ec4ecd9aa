package dao

// A NodeDAOInfo is a node.
type NodeDAOInfo struct {
	NodeID             string                      `json:"nodeID"`
	HostName           string                      `json:"hostName,omitempty"`
	RackName           string                      `json:"rackName,omitempty"`
	Attributes         map[string]string           `json:"attributes,omitempty"`
	Capacity           map[string]int64            `json:"capacity,omitempty"`
	Allocated          map[string]int64            `json:"allocated,omitempty"` // by own allocations
	Occupied           map[string]int64            `json:"occupied,omitempty"`  // by foreign ones
	Available          map[string]int64            `json:"available,omitempty"`
	Utilized           map[string]int64            `json:"utilized,omitempty"` // percent, by own allocations
	Allocations        []*AllocationDAOInfo        `json:"allocations,omitempty"`
	ForeignAllocations []*ForeignAllocationDAOInfo `json:"foreignAllocations,omitempty"`
	Schedulable        bool                        `json:"schedulable"`
	IsReserved         bool                        `json:"isReserved"`
	Reservations       []string                    `json:"reservations,omitempty"` // keys of asks
}

// A NodesDAOInfo is the nodes of one partition.
type NodesDAOInfo struct {
	PartitionName string         `json:"partitionName"`
	Nodes         []*NodeDAOInfo `json:"nodesInfo"`
}

// A PartitionNodesUtilDAOInfo counts the nodes of a partition by how much of them is used.
type PartitionNodesUtilDAOInfo struct {
	ClusterID     string              `json:"clusterId"`
	Partition     string              `json:"partition"`
	NodesUtilList []*NodesUtilDAOInfo `json:"utilizations,omitempty"`
}

// A NodesUtilDAOInfo does so for one kind of resource.
type NodesUtilDAOInfo struct {
	ResourceType string             `json:"type"`
	NodesUtil    []*NodeUtilDAOInfo `json:"utilization,omitempty"`
}

// A NodeUtilDAOInfo is the nodes of one range.
type NodeUtilDAOInfo struct {
	BucketName string   `json:"bucketName"`
	NumOfNodes int64    `json:"numOfNodes,omitempty"`
	NodeNames  []string `json:"nodeNames,omitempty"`
}
