package dao_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-core/pkg/common/configs"
	"github.com/apache/yunikorn-core/pkg/webservice/dao"
)

// goldens are the answers of REST that this scheduler documents, in the directory of its
// package webservice.
const goldens = "../../../../webservice/testdata"

// answers are the types of the documented answers.
var answers = map[string]any{
	"application.json":            dao.ApplicationDAOInfo{},
	"applications.json":           []dao.ApplicationDAOInfo{},
	"applications-completed.json": []dao.ApplicationDAOInfo{},
	"applications-rejected.json":  []dao.ApplicationDAOInfo{},
	"clusters.json":               []dao.ClusterDAOInfo{},
	"config.json":                 dao.ConfigDAOInfo{},
	"error.json":                  dao.YAPIError{},
	"events.json":                 dao.EventRecordDAO{},
	"fullstatedump.json":          dao.AggregatedStateInfo{},
	"group.json":                  dao.GroupResourceUsageDAOInfo{},
	"groups.json":                 []dao.GroupResourceUsageDAOInfo{},
	"healthcheck.json":            dao.SchedulerHealthDAOInfo{},
	"history-apps.json":           []dao.ApplicationHistoryDAOInfo{},
	"history-containers.json":     []dao.ContainerHistoryDAOInfo{},
	"node-utilizations.json":      []dao.PartitionNodesUtilDAOInfo{},
	"node.json":                   dao.NodeDAOInfo{},
	"nodes.json":                  []dao.NodeDAOInfo{},
	"nodes-paged.json":            []dao.NodeDAOInfo{},
	"partitions.json":             []dao.PartitionInfo{},
	"placementrules.json":         []dao.RuleDAO{},
	"queue-applications.json":     []dao.ApplicationDAOInfo{},
	"queue-subtree.json":          dao.PartitionQueueDAOInfo{},
	"queue.json":                  dao.PartitionQueueDAOInfo{},
	"queues.json":                 dao.PartitionQueueDAOInfo{},
	"user.json":                   dao.UserResourceUsageDAOInfo{},
	"users.json":                  []dao.UserResourceUsageDAOInfo{},
}

// ours are the answers to questions that YuniKorn does not answer.
var ours = []string{
	"asks.json", "explain.json", "explain-gone.json", "explain-victim.json", "history.json", "history-cluster.json",
	"doctor.json", "accounting.json", "changes.json", "domains.json", "losses.json", "preemptions.json", "startgroups.json", "summary.json", "victims.json", "whatif.json",
}

// unknown are the fields that YuniKorn does not know, by the object they are in. What is not
// here must be a field of its type.
var unknown = map[string][]string{
	"AllocationAskDAOInfo":      {"class", "detail", "nominatedNode", "plan", "planned", "preemptionAttempts", "reservedNode", "why"},
	"ApplicationDAOInfo":        {"heldResource", "oldestRequestTime", "pendingAsks", "tags"},
	"EventRecord":               {"count", "id", "lastNano"},
	"ForeignAllocationDAOInfo":  {"requestTime"},
	"GroupResourceUsageDAOInfo": {"limitPercent"},
	"NodeDAOInfo":               {"allocationCount", "daemonSets", "evictions", "nominated", "nominations"},
	"PartitionInfo":             {"preempted"},
	"PartitionPreemptionConfig": {
		"Deviation", "DisruptionBudgets", "ForeignPods", "LoopMax", "LoopWindow", "Priority", "StartDelay", "Strategies",
		"VictimOrder", "VictimTimeout", "VictimsMax",
	},
	"PartitionQueueDAOInfo":    {"applications", "guaranteeState", "guaranteeStateByKind", "guaranteedKind", "guaranteedPercent", "limits", "nominatedResource", "overMaxSince"},
	"ResourceUsageDAOInfo":     {"oldestRequestTime", "pendingAsks", "pendingResource"},
	"StateDAOInfo":             {"reason"},
	"UserResourceUsageDAOInfo": {"limitPercent", "oldestRequestTime", "pendingAsks"},
}

// known are the fields that YuniKorn writes, also those that no documented answer has.
var known = []struct {
	in    any
	names string
}{
	{dao.ClusterDAOInfo{}, "startTime rmBuildInformation partition clusterName"},
	{dao.PartitionInfo{}, "clusterId name capacity nodeSortingPolicy preemptionEnabled quotaPreemptionEnabled totalNodes applications " +
		"totalContainers state lastStateTransitionTime"},
	{dao.PartitionCapacity{}, "capacity usedCapacity utilization"},
	{dao.NodeSortingPolicy{}, "type resourceWeights"},
	{dao.PartitionQueueDAOInfo{}, "queuename status partition pendingResource maxResource guaranteedResource allocatedResource " +
		"preemptingResource headroom isLeaf isManaged properties parent template children childNames absUsedCapacity maxRunningApps " +
		"runningApps currentPriority allocatingAcceptedApps sortingPolicy prioritySorting preemptionEnabled isPreemptionFence " +
		"preemptionDelay quotaPreemptionDelay isPriorityFence priorityOffset isQuotaPreemptionRunning quotaPreemptionStartTime " +
		"unschedAskBackoff askBackoffDelay"},
	{dao.TemplateInfo{}, "maxApplications maxResource guaranteedResource properties"},
	{dao.NodeDAOInfo{}, "nodeID hostName rackName attributes capacity allocated occupied available utilized allocations " +
		"foreignAllocations schedulable isReserved reservations"},
	{dao.AllocationDAOInfo{}, "allocationKey allocationTags requestTime allocationTime allocationDelay resource priority nodeId " +
		"applicationId placeholder placeholderUsed taskGroupName preempted originator"},
	{dao.ForeignAllocationDAOInfo{}, "allocationKey allocationTags allocationTime resource priority nodeId preemptable"},
	{dao.AllocationAskDAOInfo{}, "allocationKey allocationTags requestTime resource priority requiredNodeId applicationId placeholder " +
		"taskGroupName allocationLog triggeredPreemption originator schedulingAttempted triggeredScaleUp"},
	{dao.AllocationAskLogDAOInfo{}, "message lastOccurrence count"},
	{dao.ApplicationDAOInfo{}, "applicationID usedResource maxUsedResource pendingResource partition queueName submissionTime " +
		"finishedTime requests allocations applicationState user groups rejectedMessage stateLog placeholderData hasReserved " +
		"reservations maxRequestPriority startTime resourceHistory backoffDeadline"},
	{dao.StateDAOInfo{}, "time applicationState"},
	{dao.PlaceholderDAOInfo{}, "taskGroupName count minResource replaced timedout"},
	{dao.ResourceHistory{}, "resourceUsage preemptedResource placeholderResource"},
	{dao.RuleDAO{}, "name parameters filter parentRule"},
	{dao.FilterDAO{}, "type userList groupList userExp groupExp"},
	{dao.UserResourceUsageDAOInfo{}, "userName groups queues"},
	{dao.GroupResourceUsageDAOInfo{}, "groupName applications queues"},
	{dao.ResourceUsageDAOInfo{}, "queuePath resourceUsage runningApplications maxResources maxApplications children"},
	{dao.EventRecordDAO{}, "InstanceUUID LowestID HighestID EventRecords"},
	{dao.SchedulerHealthDAOInfo{}, "Healthy HealthChecks"},
	{dao.HealthCheckInfo{}, "Name Succeeded Description DiagnosisMessage"},
	{dao.PartitionNodesUtilDAOInfo{}, "clusterId partition utilizations"},
	{dao.NodesUtilDAOInfo{}, "type utilization"},
	{dao.NodeUtilDAOInfo{}, "bucketName numOfNodes nodeNames"},
	{dao.ApplicationHistoryDAOInfo{}, "timestamp totalApplications"},
	{dao.ContainerHistoryDAOInfo{}, "timestamp totalContainers"},
	{dao.ValidateConfResponse{}, "allowed reason checksum checksumMatch"},
	{dao.YAPIError{}, "status_code message description"},
	{dao.EventStreamDAOInfo{}, "Name CreatedAt"},
	{dao.NodesDAOInfo{}, "partitionName nodesInfo"},
	{dao.RuleDAOInfo{}, "partition rules"},
	{dao.AggregatedStateInfo{}, "timestamp partitions applications appHistory nodes clusterInfo containerHistory queues rmDiagnostics " +
		"logLevel config placementRules eventStreams"},
	{dao.ConfigDAOInfo{}, "Partitions Checksum Extra DeadlockDetectionEnabled DeadlockTimeoutSeconds"},
	{configs.PartitionConfig{}, "Name Queues PlacementRules Limits Preemption NodeSortPolicy UserGroupResolver"},
	{configs.QueueConfig{}, "Name Parent Resources MaxApplications Properties AdminACL SubmitACL ChildTemplate Queues Limits"},
	{configs.PlacementRule{}, "Name Create Filter Parent Value"},
	{configs.Filter{}, "Type Users Groups"},
	{configs.Limit{}, "Limit Users Groups MaxResources MaxApplications"},
	{configs.PartitionPreemptionConfig{}, "Enabled QuotaPreemptionEnabled"},
	{configs.NodeSortingPolicy{}, "Type ResourceWeights"},
	{configs.UserGroupResolver{}, "type"},
}

// TestKnownFields: the data has the fields that YuniKorn writes, and no others.
func TestKnownFields(t *testing.T) {
	for _, c := range known {
		of := reflect.TypeOf(c.in)
		assert.DeepEqual(t, slices.Sorted(maps.Keys(fieldsOf(of))), slices.Sorted(slices.Values(strings.Fields(c.names))))
	}
}

// TestGoldensAreComplete: no field of an answer is left over but those that are known to be
// new, and each of those is in an answer.
func TestGoldensAreComplete(t *testing.T) {
	files, err := filepath.Glob(goldens + "/*.json")
	assert.NilError(t, err)
	left := leftovers{}
	seen := slices.Clone(ours)
	for _, file := range files {
		name := filepath.Base(file)
		answer, ok := answers[name]
		if !ok {
			assert.Assert(t, slices.Contains(ours, name), "%s has no type", name)
			continue
		}
		seen = append(seen, name)
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		into := reflect.New(reflect.TypeOf(answer))
		assert.NilError(t, json.Unmarshal(text, into.Interface()), name)
		assert.Assert(t, !into.Elem().IsZero(), name)
		var generic any
		assert.NilError(t, json.Unmarshal(text, &generic))
		left.compare(generic, into.Elem().Type())
	}
	assert.Equal(t, len(seen), len(answers)+len(ours))
	assert.DeepEqual(t, left.sorted(), unknown)
}

// leftovers are the members of objects that no field takes, by the type of the object.
type leftovers map[string]map[string]bool

// compare walks through a value and the type that it is decoded into.
func (l leftovers) compare(value any, into reflect.Type) {
	for into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			l.compare(element, into.Elem())
		}
	case map[string]any:
		if into.Kind() == reflect.Map {
			return // any key will do
		}
		fields := fieldsOf(into)
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if field, ok := fields[key]; ok {
				l.compare(value[key], field)
				continue
			}
			if l[into.Name()] == nil {
				l[into.Name()] = map[string]bool{}
			}
			l[into.Name()][key] = true
		}
	}
}

func (l leftovers) sorted() map[string][]string {
	out := map[string][]string{}
	for of, names := range l {
		out[of] = slices.Sorted(maps.Keys(names))
	}
	return out
}

// fieldsOf are the fields of a type by their names in JSON.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		if field.IsExported() && !field.Anonymous && name != "-" {
			fields[name] = field.Type
		}
	}
	return fields
}

// TestBackoffDeadline: the one time that is a text is read as a time.
func TestBackoffDeadline(t *testing.T) {
	var application dao.ApplicationDAOInfo
	assert.NilError(t, json.Unmarshal([]byte(`{"backoffDeadline": "2026-01-02T03:04:05Z"}`), &application))
	assert.Equal(t, *application.BackoffDeadline, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
}

// TestConfigurationInYAML: the other form of the configuration is read into the same data.
func TestConfigurationInYAML(t *testing.T) {
	var fromJSON, fromYAML dao.ConfigDAOInfo
	text, err := os.ReadFile(goldens + "/config.json")
	assert.NilError(t, err)
	assert.NilError(t, json.Unmarshal(text, &fromJSON))
	text, err = os.ReadFile(goldens + "/config.yaml")
	assert.NilError(t, err)
	assert.NilError(t, yaml.Unmarshal(text, &fromYAML))
	further := fromYAML.Partitions[0].Preemption.Further
	assert.Equal(t, further["preemption_loop_max"], 5)
	fromYAML.Partitions[0].Preemption.Further = nil // which only the YAML keeps
	assert.DeepEqual(t, fromYAML, fromJSON)
	assert.Equal(t, fromJSON.Partitions[0].Queues[0].Queues[0].Name, "low")
	assert.Equal(t, fromJSON.Extra["log.level"], "INFO")
}
