package webservice

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
)

// offerDump answers with the dump. It is large, so only one is made at a time.
func (s *Service) offerDump() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.reply(w, s.withViews(r, s.config.Views.Partitions()...), s.dump, s.dumps)
	})
}

// noDiagnostics is what clients know for a resource manager that says nothing.
const noDiagnostics = "Resource Manager did not register callback"

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
	RMDiagnostics    map[string]any               `json:"rmDiagnostics"`
	LogLevel         string                       `json:"logLevel"`
	Config           *configurationJSON           `json:"config"`
	PlacementRules   *items[rulesJSON]            `json:"placementRules"`
	EventStreams     []eventStreamJSON            `json:"eventStreams"`
}

func (d *dumpJSON) encode(e *encoder) {
	e.open('{')
	e.time("timestamp", d.Timestamp)
	e.other("partitions", d.Partitions)
	e.other("applications", d.Applications)
	e.other("appHistory", d.AppHistory)
	e.other("nodes", d.Nodes)
	e.other("clusterInfo", d.ClusterInfo)
	e.other("containerHistory", d.ContainerHistory)
	if e.member("queues") {
		e.open('[')
		for _, q := range d.Queues {
			e.next()
			q.encode(e)
		}
		e.close(']')
	}
	e.other("rmDiagnostics", d.RMDiagnostics)
	e.text("logLevel", d.LogLevel)
	e.other("config", d.Config)
	e.other("placementRules", d.PlacementRules)
	e.other("eventStreams", d.EventStreams)
	e.close('}')
}

// eventStreamJSON is a stream of events that is open.
type eventStreamJSON struct {
	Name      string // of the host that reads it
	CreatedAt nanoseconds
}

// nodesJSON is the nodes of one partition, and the foreign allocations whose node is
// not known.
type nodesJSON struct {
	PartitionName string           `json:"partitionName"`
	NodesInfo     *items[nodeJSON] `json:"nodesInfo"`

	// What is new.
	ForeignUnknownNode *items[foreignJSON] `json:"foreignUnknownNode,omitempty"`
}

func (n *nodesJSON) encode(e *encoder) {
	e.open('{')
	e.text("partitionName", n.PartitionName)
	e.other("nodesInfo", n.NodesInfo)
	e.list("foreignUnknownNode", n.ForeignUnknownNode)
	e.close('}')
}

// rulesJSON is the placement rules of one partition.
type rulesJSON struct {
	Partition string     `json:"partition"`
	Rules     []ruleJSON `json:"rules"`
}

// owned is an application and the partition it is in.
type owned struct {
	at  *snapshot
	app applicationEntry
}

// dump answers GET /debug/fullstatedump. Every part of it shows the same views.
func (s *Service) dump(r *http.Request) (any, error) {
	all, err := s.all(r)
	if err != nil {
		return nil, err
	}
	history := s.history()
	out := &dumpJSON{
		Timestamp:        s.config.Now(),
		Partitions:       each(all, s.fillPartition),
		EventStreams:     []eventStreamJSON{},
		AppHistory:       each(history.Applications(), fillApplicationCount),
		Nodes:            each(all, fillNodes),
		ClusterInfo:      each(all, s.fillCluster),
		ContainerHistory: each(history.Containers(), fillContainerCount),
		RMDiagnostics:    s.config.diagnostics(all),
		PlacementRules:   each(all, fillRules),
	}
	var applications []owned
	for _, at := range all {
		out.Queues = append(out.Queues, at.queues())
		for _, app := range slices.Concat(at.active(at.Applications), endedOf(at.ended()), endedOf(at.rejected())) {
			applications = append(applications, owned{at, app})
		}
	}
	out.Applications = each(applications, func(o owned, to *applicationJSON) { o.at.fillApplication(o.app, to) })
	if s.config.Events != nil {
		for _, reader := range s.config.Events.Readers() {
			out.EventStreams = append(out.EventStreams, eventStreamJSON{reader.Client, nanosecondsOf(reader.Since)})
		}
	}
	if s.config.LogLevel != nil {
		out.LogLevel = s.config.LogLevel()
	}
	if document := s.document(); document != nil {
		out.Config = configurationOf(document, s.config.Configuration.Extra())
	}
	return &pretty{out}, nil
}

// diagnostics is what the resource manager says of itself; of several, by name.
func (c *Config) diagnostics(all []*snapshot) map[string]any {
	said := map[string]any{}
	for _, at := range all {
		if said[at.cluster] == nil {
			said[at.cluster] = c.diagnosticsOf(at.cluster)
		}
	}
	if len(said) == 1 {
		return said[all[0].cluster].(map[string]any)
	}
	return said
}

// diagnosticsOf is what one resource manager says, which is an object. Numbers stay
// as they are written.
func (c *Config) diagnosticsOf(cluster string) map[string]any {
	if c.Diagnostics == nil {
		return map[string]any{"empty": noDiagnostics}
	}
	said, err := c.Diagnostics(cluster)
	if errors.Is(err, errors.ErrUnsupported) {
		return map[string]any{"empty": noDiagnostics}
	}
	var out map[string]any
	if err == nil {
		decoder := json.NewDecoder(strings.NewReader(said))
		decoder.UseNumber()
		err = decoder.Decode(&out)
	}
	if err != nil {
		return map[string]any{"Error": err.Error()}
	}
	return out
}

func fillNodes(at *snapshot, out *nodesJSON) {
	*out = nodesJSON{at.name, each(at.Nodes, fillNode), eachByKey(at.ForeignUnknownNode, keyOf, fillForeign)}
}

func fillRules(at *snapshot, out *rulesJSON) {
	*out = rulesJSON{Partition: at.name, Rules: []ruleJSON{}}
	for _, rule := range at.rules() {
		var one ruleJSON
		fillRule(rule, &one)
		out.Rules = append(out.Rules, one)
	}
}
