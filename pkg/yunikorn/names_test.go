package yunikorn_test

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-core/pkg/common/configs"
	"github.com/apache/yunikorn-core/pkg/common/resources"
	"github.com/apache/yunikorn-core/pkg/entrypoint"
	"github.com/apache/yunikorn-core/pkg/locking"
	"github.com/apache/yunikorn-core/pkg/log"
	"github.com/apache/yunikorn-core/pkg/scheduler"
	"github.com/apache/yunikorn-core/pkg/scheduler/objects"
	"github.com/apache/yunikorn-core/pkg/scheduler/placement/types"
	"github.com/apache/yunikorn-core/pkg/webservice/dao"
)

// These declarations use every name that a Kubernetes shim was found to use, with its
// type: this file compiles only as long as they are all there.

// The functions and methods.
var (
	_ func(*resources.Resource) *si.Resource                               = (*resources.Resource).ToProto
	_ func(*scheduler.ClusterContext, string, string) *objects.Application = (*scheduler.ClusterContext).GetApplication
	_ func(*scheduler.ClusterContext, string, string) *objects.Node        = (*scheduler.ClusterContext).GetNode
	_ func(*scheduler.ClusterContext, string) *scheduler.PartitionContext  = (*scheduler.ClusterContext).GetPartition
	_ func(*scheduler.PartitionContext) []*objects.Application             = (*scheduler.PartitionContext).GetApplications
	_ func(*scheduler.PartitionContext) []*objects.Node                    = (*scheduler.PartitionContext).GetNodes
	_ func(*scheduler.Scheduler) *scheduler.ClusterContext                 = (*scheduler.Scheduler).GetClusterContext
	_ func(*objects.Allocation) *resources.Resource                        = (*objects.Allocation).GetAllocatedResource
	_ func(*objects.Allocation) string                                     = (*objects.Allocation).GetAllocationKey
	_ func(*objects.Application) string                                    = (*objects.Application).CurrentState
	_ func(*objects.Application) []*objects.Allocation                     = (*objects.Application).GetAllAllocations
	_ func(*objects.Application) []*objects.Allocation                     = (*objects.Application).GetAllRequests
	_ func(*objects.Node) []*objects.Allocation                            = (*objects.Node).GetForeignAllocations
	_ func([]byte) (*configs.SchedulerConfig, error)                       = configs.LoadSchedulerConfigFromByteArray
	_ func() *entrypoint.ServiceContext                                    = entrypoint.StartAllServices
	_ func(*zap.Logger, *zap.Config) *entrypoint.ServiceContext            = entrypoint.StartAllServicesWithLogger
	_ func(bool, bool) *entrypoint.ServiceContext                          = entrypoint.StartAllServicesWithParams
	_ func(*zap.Logger, *zap.Config)                                       = log.InitializeLogger
	_ func(*log.LoggerHandle) *zap.Logger                                  = log.Log
	_ func() bool                                                          = locking.IsTrackingEnabled
)

// The variable, which is set as well.
var _ *string = &configs.DefaultSchedulerConfig

// The types.
var (
	_ configs.Limit
	_ configs.NodeSortingPolicy
	_ configs.PartitionConfig
	_ configs.PlacementRule
	_ configs.QueueConfig
	_ configs.Resources
	_ configs.SchedulerConfig
	_ entrypoint.ServiceContext
	_ objects.Application
	_ dao.AllocationAskLogDAOInfo
	_ dao.ApplicationDAOInfo
	_ dao.ConfigDAOInfo
	_ dao.GroupResourceUsageDAOInfo
	_ dao.HealthCheckInfo
	_ dao.NodeDAOInfo
	_ dao.PartitionInfo
	_ dao.PartitionQueueDAOInfo
	_ dao.ResourceUsageDAOInfo
	_ dao.SchedulerHealthDAOInfo
	_ dao.UserResourceUsageDAOInfo
	_ dao.ValidateConfResponse
	_ dao.YAPIError
)

// The fields of the scheduler and of the configuration.
var (
	_ map[string]string         = new(configs.ChildTemplate).Properties
	_ []string                  = new(configs.Limit).Groups
	_ string                    = new(configs.Limit).Limit
	_ uint64                    = new(configs.Limit).MaxApplications
	_ map[string]string         = new(configs.Limit).MaxResources
	_ []string                  = new(configs.Limit).Users
	_ string                    = new(configs.NodeSortingPolicy).Type
	_ string                    = new(configs.PartitionConfig).Name
	_ configs.NodeSortingPolicy = new(configs.PartitionConfig).NodeSortPolicy
	_ []configs.PlacementRule   = new(configs.PartitionConfig).PlacementRules
	_ []configs.QueueConfig     = new(configs.PartitionConfig).Queues
	_ bool                      = new(configs.PlacementRule).Create
	_ string                    = new(configs.PlacementRule).Name
	_ string                    = new(configs.PlacementRule).Value
	_ configs.ChildTemplate     = new(configs.QueueConfig).ChildTemplate
	_ []configs.Limit           = new(configs.QueueConfig).Limits
	_ string                    = new(configs.QueueConfig).Name
	_ bool                      = new(configs.QueueConfig).Parent
	_ map[string]string         = new(configs.QueueConfig).Properties
	_ []configs.QueueConfig     = new(configs.QueueConfig).Queues
	_ configs.Resources         = new(configs.QueueConfig).Resources
	_ string                    = new(configs.QueueConfig).SubmitACL
	_ map[string]string         = new(configs.Resources).Guaranteed
	_ map[string]string         = new(configs.Resources).Max
	_ []configs.PartitionConfig = new(configs.SchedulerConfig).Partitions
	_ api.SchedulerAPI          = new(entrypoint.ServiceContext).RMProxy
	_ *scheduler.Scheduler      = new(entrypoint.ServiceContext).Scheduler
	_ string                    = new(objects.Application).ApplicationID
)

// The fields of answers of REST; the last one is promoted.
var (
	_ []*dao.AllocationAskLogDAOInfo  = new(dao.AllocationAskDAOInfo).AllocationLog
	_ map[string]string               = new(dao.AllocationAskDAOInfo).AllocationTags
	_ string                          = new(dao.AllocationAskLogDAOInfo).Message
	_ string                          = new(dao.AllocationDAOInfo).AllocationKey
	_ map[string]string               = new(dao.AllocationDAOInfo).AllocationTags
	_ string                          = new(dao.AllocationDAOInfo).ApplicationID
	_ string                          = new(dao.AllocationDAOInfo).NodeID
	_ bool                            = new(dao.AllocationDAOInfo).Originator
	_ bool                            = new(dao.AllocationDAOInfo).Placeholder
	_ bool                            = new(dao.AllocationDAOInfo).PlaceholderUsed
	_ map[string]int64                = new(dao.AllocationDAOInfo).ResourcePerAlloc
	_ []*dao.AllocationDAOInfo        = new(dao.ApplicationDAOInfo).Allocations
	_ string                          = new(dao.ApplicationDAOInfo).ApplicationID
	_ []*dao.PlaceholderDAOInfo       = new(dao.ApplicationDAOInfo).PlaceholderData
	_ string                          = new(dao.ApplicationDAOInfo).QueueName
	_ []*dao.AllocationAskDAOInfo     = new(dao.ApplicationDAOInfo).Requests
	_ string                          = new(dao.ApplicationDAOInfo).State
	_ int64                           = new(dao.ApplicationDAOInfo).SubmissionTime
	_ map[string]int64                = new(dao.ApplicationDAOInfo).UsedResource
	_ string                          = new(dao.ForeignAllocationDAOInfo).AllocationKey
	_ string                          = new(dao.ForeignAllocationDAOInfo).NodeID
	_ string                          = new(dao.GroupResourceUsageDAOInfo).GroupName
	_ *dao.ResourceUsageDAOInfo       = new(dao.GroupResourceUsageDAOInfo).Queues
	_ string                          = new(dao.HealthCheckInfo).DiagnosisMessage
	_ string                          = new(dao.HealthCheckInfo).Name
	_ bool                            = new(dao.HealthCheckInfo).Succeeded
	_ map[string]int64                = new(dao.NodeDAOInfo).Allocated
	_ []*dao.AllocationDAOInfo        = new(dao.NodeDAOInfo).Allocations
	_ map[string]int64                = new(dao.NodeDAOInfo).Available
	_ map[string]int64                = new(dao.NodeDAOInfo).Capacity
	_ []*dao.ForeignAllocationDAOInfo = new(dao.NodeDAOInfo).ForeignAllocations
	_ string                          = new(dao.NodeDAOInfo).NodeID
	_ map[string]int64                = new(dao.NodeDAOInfo).Occupied
	_ string                          = new(dao.PartitionInfo).Name
	_ map[string]int64                = new(dao.PartitionQueueDAOInfo).AbsUsedCapacity
	_ map[string]int64                = new(dao.PartitionQueueDAOInfo).AllocatedResource
	_ []dao.PartitionQueueDAOInfo     = new(dao.PartitionQueueDAOInfo).Children
	_ map[string]int64                = new(dao.PartitionQueueDAOInfo).MaxResource
	_ map[string]string               = new(dao.PartitionQueueDAOInfo).Properties
	_ string                          = new(dao.PartitionQueueDAOInfo).QueueName
	_ string                          = new(dao.PartitionQueueDAOInfo).Status
	_ int64                           = new(dao.PlaceholderDAOInfo).Count
	_ int64                           = new(dao.PlaceholderDAOInfo).Replaced
	_ string                          = new(dao.PlaceholderDAOInfo).TaskGroupName
	_ int64                           = new(dao.PlaceholderDAOInfo).TimedOut
	_ []*dao.ResourceUsageDAOInfo     = new(dao.ResourceUsageDAOInfo).Children
	_ string                          = new(dao.ResourceUsageDAOInfo).QueuePath
	_ map[string]int64                = new(dao.ResourceUsageDAOInfo).ResourceUsage
	_ []string                        = new(dao.ResourceUsageDAOInfo).RunningApplications
	_ []dao.HealthCheckInfo           = new(dao.SchedulerHealthDAOInfo).HealthChecks
	_ bool                            = new(dao.SchedulerHealthDAOInfo).Healthy
	_ *dao.ResourceUsageDAOInfo       = new(dao.UserResourceUsageDAOInfo).Queues
	_ bool                            = new(dao.ValidateConfResponse).Allowed
	_ string                          = new(dao.YAPIError).Description
	_ string                          = new(dao.YAPIError).Message
	_ int                             = new(dao.YAPIError).StatusCode
	_ []configs.PartitionConfig       = (&dao.ConfigDAOInfo{SchedulerConfig: new(configs.SchedulerConfig)}).Partitions
)

// TestConstants: names that are written in configurations.
func TestConstants(t *testing.T) {
	for _, c := range []struct{ is, want string }{
		{configs.PriorityOffset, "priority.offset"},
		{configs.PriorityPolicy, "priority.policy"},
		{configs.ApplicationSortPolicy, "application.sort.policy"},
		{configs.ApplicationSortPriority, "application.sort.priority"},
		{configs.PreemptionPolicy, "preemption.policy"},
		{configs.PreemptionDelay, "preemption.delay"},
		{configs.QuotaPreemptionDelay, "quota.preemption.delay"},
		{types.Tag, "tag"},
		{types.Fixed, "fixed"},
		{types.Provided, "provided"},
		{types.User, "user"},
	} {
		assert.Equal(t, c.is, c.want)
	}
}
