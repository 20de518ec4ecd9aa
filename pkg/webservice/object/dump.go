package object

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/configuration"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
)

// noDiagnostics is what clients know for a resource manager that says nothing.
const noDiagnostics = "Resource Manager did not register callback"

// dumpJSON is the whole state, of one moment for each partition.
type dumpJSON struct {
	Timestamp        time.Time                            `json:"timestamp"`
	Partitions       *encoder.Items[partitionJSON]        `json:"partitions"`
	Applications     *encoder.Items[applicationJSON]      `json:"applications"`
	AppHistory       *encoder.Items[applicationCountJSON] `json:"appHistory"`
	Nodes            *encoder.Items[nodesJSON]            `json:"nodes"`
	ClusterInfo      *encoder.Items[clusterJSON]          `json:"clusterInfo"`
	ContainerHistory *encoder.Items[containerCountJSON]   `json:"containerHistory"`
	Queues           []*queueJSON                         `json:"queues"`
	RMDiagnostics    map[string]any                       `json:"rmDiagnostics"`
	LogLevel         string                               `json:"logLevel"`
	Config           *configuration.Document              `json:"config"`
	PlacementRules   *encoder.Items[rulesJSON]            `json:"placementRules"`
	EventStreams     []eventStreamJSON                    `json:"eventStreams"`
}

func (d *dumpJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Time("timestamp", d.Timestamp)
	e.Other("partitions", d.Partitions)
	e.Other("applications", d.Applications)
	e.Other("appHistory", d.AppHistory)
	e.Other("nodes", d.Nodes)
	e.Other("clusterInfo", d.ClusterInfo)
	e.Other("containerHistory", d.ContainerHistory)
	if e.Member("queues") {
		e.Open('[')
		for _, q := range d.Queues {
			e.Next()
			q.Encode(e)
		}
		e.Close(']')
	}
	e.Other("rmDiagnostics", d.RMDiagnostics)
	e.Text("logLevel", d.LogLevel)
	e.Other("config", d.Config)
	e.Other("placementRules", d.PlacementRules)
	e.Other("eventStreams", d.EventStreams)
	e.Close('}')
}

// eventStreamJSON is a stream of events that is open.
type eventStreamJSON struct {
	Name      string // of the host that reads it
	CreatedAt encoder.Nanoseconds
}

// nodesJSON is the nodes of one partition, and the foreign allocations whose node is
// not known.
type nodesJSON struct {
	PartitionName string                   `json:"partitionName"`
	NodesInfo     *encoder.Items[nodeJSON] `json:"nodesInfo"`

	// What is new.
	ForeignUnknownNode *encoder.Items[foreignJSON] `json:"foreignUnknownNode,omitempty"`
}

func (n *nodesJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Text("partitionName", n.PartitionName)
	e.Other("nodesInfo", n.NodesInfo)
	e.List("foreignUnknownNode", n.ForeignUnknownNode)
	e.Close('}')
}

// rulesJSON is the placement rules of one partition.
type rulesJSON struct {
	Partition string               `json:"partition"`
	Rules     []configuration.Rule `json:"rules"`
}

// owned is an application and the partition it is in.
type owned struct {
	at  *Snapshot
	app applicationEntry
}

// Dump is everything at once. Every part of it shows the same views.
func (from *Sources) Dump(all []*Snapshot) any {
	history := from.history()
	out := &dumpJSON{
		Timestamp:        from.Now(),
		Partitions:       encoder.Each(all, fillPartition),
		EventStreams:     []eventStreamJSON{},
		AppHistory:       encoder.Each(history.Applications(), fillApplicationCount),
		Nodes:            encoder.Each(all, fillNodes),
		ClusterInfo:      encoder.Each(all, fillCluster),
		ContainerHistory: encoder.Each(history.Containers(), fillContainerCount),
		RMDiagnostics:    from.diagnostics(all),
		PlacementRules:   encoder.Each(all, fillRules),
	}
	var applications []owned
	for _, at := range all {
		out.Queues = append(out.Queues, at.queues())
		for _, app := range slices.Concat(at.active(at.Applications), endedOf(at.ended()), endedOf(at.rejected())) {
			applications = append(applications, owned{at, app})
		}
	}
	out.Applications = encoder.Each(applications, func(o owned, to *applicationJSON) { o.at.fillApplication(o.app, to) })
	if from.Events != nil {
		for _, reader := range from.Events.Readers() {
			out.EventStreams = append(out.EventStreams, eventStreamJSON{reader.Client, encoder.NanosecondsOf(reader.Since)})
		}
	}
	if from.LogLevel != nil {
		out.LogLevel = from.LogLevel()
	}
	if document := from.Document(); document != nil {
		out.Config = configuration.Of(document, from.Configuration.Extra())
	}
	return out
}

// diagnostics is what the resource manager says of itself; of several, by name.
func (from *Sources) diagnostics(all []*Snapshot) map[string]any {
	said := map[string]any{}
	for _, at := range all {
		if said[at.cluster] == nil {
			said[at.cluster] = from.diagnosticsOf(at.cluster)
		}
	}
	if len(said) == 1 {
		return said[all[0].cluster].(map[string]any)
	}
	return said
}

// diagnosticsOf is what one resource manager says, which is an object. Numbers stay
// as they are written.
func (from *Sources) diagnosticsOf(cluster string) map[string]any {
	if from.Diagnostics == nil {
		return map[string]any{"empty": noDiagnostics}
	}
	said, err := from.Diagnostics(cluster)
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

func fillNodes(at *Snapshot, out *nodesJSON) {
	*out = nodesJSON{at.name, encoder.Each(at.Nodes, fillNode), encoder.EachByKey(at.ForeignUnknownNode, keyOf, fillForeign)}
}

func fillRules(at *Snapshot, out *rulesJSON) {
	*out = rulesJSON{Partition: at.name, Rules: []configuration.Rule{}}
	for _, rule := range at.rules() {
		var one configuration.Rule
		configuration.FillRule(rule, &one)
		out.Rules = append(out.Rules, one)
	}
}
