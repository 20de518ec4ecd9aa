package webservice

import (
	"net/http"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// dumpJSON is the whole state, of one moment for each partition.
type dumpJSON struct {
	Timestamp        time.Time                    `json:"timestamp"`
	Partitions       *items[partitionJSON]        `json:"partitions"`
	Applications     *items[applicationJSON]      `json:"applications"`
	AppHistory       *items[applicationCountJSON] `json:"appHistory"`
	Nodes            *items[nodesJSON]            `json:"nodes"`
	ClusterInfo      *items[clusterJSON]          `json:"clusterInfo"`
	ContainerHistory *items[containerCountJSON]   `json:"containerHistory"`
	Queues           []*queueJSON                 `json:"queues"`
	RMDiagnostics    map[string]string            `json:"rmDiagnostics"`
	LogLevel         string                       `json:"logLevel"`
	Config           *configurationJSON           `json:"config"`
	PlacementRules   *items[rulesJSON]            `json:"placementRules"`
	EventStreams     []string                     `json:"eventStreams"`
}

// nodesJSON is the nodes of one partition.
type nodesJSON struct {
	PartitionName string           `json:"partitionName"`
	NodesInfo     *items[nodeJSON] `json:"nodesInfo"`
}

// rulesJSON is the placement rules of one partition.
type rulesJSON struct {
	Partition string           `json:"partition"`
	Rules     *items[ruleJSON] `json:"rules"`
}

// owned is an application and the partition it is in.
type owned struct {
	at  *snapshot
	app *core.ApplicationView
}

// dump answers GET /debug/fullstatedump. Every part of it shows the same views. It
// is large, so only one is made at a time.
func (s *Service) dump(*http.Request) (any, error) {
	all, err := s.all()
	if err != nil {
		return nil, err
	}
	out := &dumpJSON{
		Timestamp:        s.config.Now(),
		Partitions:       each(all, s.fillPartition),
		AppHistory:       each(s.counts(History.Applications), fillApplicationCount),
		Nodes:            each(all, fillNodes),
		ClusterInfo:      each(all, s.fillCluster),
		ContainerHistory: each(s.counts(History.Containers), fillContainerCount),
		RMDiagnostics:    map[string]string{"empty": "Resource Manager did not register callback"},
		PlacementRules:   each(all, fillRules),
	}
	var applications []owned
	for _, at := range all {
		out.Queues = append(out.Queues, at.queues())
		for _, app := range at.Applications {
			applications = append(applications, owned{at, app})
		}
	}
	out.Applications = each(applications, func(o owned, to *applicationJSON) { o.at.fillApplication(o.app, to) })
	if s.config.LogLevel != nil {
		out.LogLevel = s.config.LogLevel()
	}
	if document := s.document(); document != nil {
		out.Config = configurationOf(document, s.config.Configuration.Extra())
	}
	return &pretty{out, &s.dumping}, nil
}

func fillNodes(at *snapshot, out *nodesJSON) {
	*out = nodesJSON{at.name, each(at.Nodes, fillNode)}
}

func fillRules(at *snapshot, out *rulesJSON) {
	*out = rulesJSON{at.name, each(at.rules(), fillRule)}
}
