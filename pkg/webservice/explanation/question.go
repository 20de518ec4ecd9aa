package explanation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
)

// question reads the body of a request. Nodes and configurations make kinds known in the table of the snapshot, as they do in the
// scheduler; asks do not.
func question(at *object.Snapshot, r *http.Request, now time.Time) (explain.Question, error) {
	var q explain.Question
	var asked questionJSON
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, QuestionMax))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return q, failure.Bad("Body is no question: %v", err)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return q, failure.Bad("Body is more than one question")
	}
	if q.Delays = asked.Within == ""; !q.Delays {
		within, err := time.ParseDuration(asked.Within)
		if err != nil || within < 0 || within > whatIfWithinMax {
			return q, failure.Bad("within: %q is not a duration from 0s to %s", asked.Within, whatIfWithinMax)
		}
		q.Within = within
	}
	if len(asked.Applications) > whatIfAsksMax {
		return q, failure.Bad("applications: there are %d, and a question has at most %d", len(asked.Applications), whatIfAsksMax)
	}
	for i, app := range asked.Applications {
		if app.ApplicationID == "" {
			return q, failure.Bad("applications[%d]: applicationId is missing", i)
		}
		q.Applications = append(q.Applications, api.AddApplication{
			ID: app.ApplicationID, Queue: app.QueueName, User: app.User, Groups: app.Groups, Tags: app.Tags,
		})
	}
	if err := addNodes(at, &q, asked.Nodes); err != nil {
		return q, failure.Bad("nodes.%v", err)
	}
	if asked.Config != "" {
		config, err := parseConfig(at, asked.Config)
		if err != nil {
			return q, failure.Bad("config: %v", err)
		}
		q.Config = config
	}
	for i, ask := range asked.Asks {
		if err := addAsks(at, &q, ask, now); err != nil {
			return q, failure.Bad("asks[%d]: %v", i, err)
		}
	}
	return q, nil
}

// addAsks adds asks that are alike to a question.
func addAsks(at *object.Snapshot, q *explain.Question, w newAskJSON, now time.Time) error {
	count := max(w.Count, 1)
	switch {
	case w.AllocationKey == "":
		return errors.New("allocationKey is missing")
	case w.Count < 0 || count > whatIfAsksMax-len(q.Asks):
		return fmt.Errorf("count is %d, and a question has from 1 to %d asks", w.Count, whatIfAsksMax)
	}
	amounts, err := amountsOf(at, w.Resource)
	if err != nil {
		return err
	}
	var policy api.Preemptable
	if p := w.PreemptionPolicy; p != nil {
		policy = api.Preemptable{Stated: true, AllowSelf: p.AllowPreemptSelf, AllowOthers: p.AllowPreemptOther}
	}
	for i := range count {
		key := w.AllocationKey
		if w.Count > 1 {
			key = api.AllocationKey(fmt.Sprintf("%s-%d", w.AllocationKey, i+1))
		}
		q.Asks = append(q.Asks, &api.Allocation{
			Key: key, Application: w.ApplicationID, Amounts: amounts.Clone(), Priority: w.Priority,
			Required: w.RequiredNodeID, Created: now, Tags: w.Tags, Preemptable: policy,
		})
	}
	return nil
}

// amountsOf are amounts of kinds that there are.
func amountsOf(at *object.Snapshot, quantities map[string]int64) (amounts resources.Amounts, err error) {
	for _, name := range slices.Sorted(maps.Keys(quantities)) {
		kind, known := at.Kinds().Lookup(name)
		switch {
		case !known || name == resources.UnknownKind:
			return nil, fmt.Errorf("no node or queue has any %q", name)
		case quantities[name] < 0 || quantities[name] == math.MaxInt64:
			return nil, fmt.Errorf("%s is %d, which is no amount", name, quantities[name])
		}
		amounts.Set(kind, quantities[name])
	}
	return amounts, nil
}

// makeKnown makes kinds known that are new in a question, as long as these are few.
func makeKnown(at *object.Snapshot, names iter.Seq[string], most int) error {
	for _, name := range slices.Sorted(names) {
		if _, known := at.Kinds().Lookup(name); known {
			continue
		}
		if at.Kinds().Len() == most {
			return fmt.Errorf("no node or queue has any %q, and a question makes at most %d kinds known", name, whatIfKindsMax)
		}
		if _, err := at.Kinds().Intern(name); err != nil {
			return err
		}
	}
	return nil
}

// addNodes adds what would be done to nodes to a question.
func addNodes(at *object.Snapshot, q *explain.Question, w newNodesJSON) error {
	if n := len(w.Drain) + len(w.Remove); n > whatIfNodesMax {
		return fmt.Errorf("drain and remove have %d nodes, and a question has at most %d", n, whatIfNodesMax)
	}
	q.Nodes.Drain, q.Nodes.Remove = w.Drain, w.Remove
	most := at.Kinds().Len() + whatIfKindsMax
	for i, node := range w.Add {
		count := max(node.Count, 1)
		switch {
		case node.NodeID == "":
			return fmt.Errorf("add[%d]: nodeId is missing", i)
		case node.Count < 0 || count > whatIfNodesMax-len(q.Nodes.Add):
			return fmt.Errorf("add[%d]: count is %d, and a question has from 1 to %d new nodes", i, node.Count, whatIfNodesMax)
		}
		if err := makeKnown(at, maps.Keys(node.Capacity), most); err != nil {
			return fmt.Errorf("add[%d]: %w", i, err)
		}
		capacity, err := amountsOf(at, node.Capacity)
		if err != nil {
			return fmt.Errorf("add[%d]: %w", i, err)
		}
		for n := range count {
			id := node.NodeID
			if node.Count > 1 {
				id = api.NodeID(fmt.Sprintf("%s-%d", node.NodeID, n+1))
			}
			q.Nodes.Add = append(q.Nodes.Add, api.AddNode{ID: id, Capacity: capacity.Clone(), Attributes: node.Attributes})
		}
	}
	return nil
}

// parseConfig is the configuration of the partition in a text.
func parseConfig(at *object.Snapshot, text string) (*api.Config, error) {
	kinds := new(resources.Kinds)
	if _, err := at.Defaults().Load(text, kinds); err != nil {
		return nil, err
	}
	names := func(yield func(string) bool) {
		for i := range kinds.Len() {
			if !yield(kinds.Name(resources.Kind(i))) {
				return
			}
		}
	}
	if err := makeKnown(at, names, at.Kinds().Len()+whatIfKindsMax); err != nil {
		return nil, err
	}
	document, err := at.Defaults().Load(text, at.Kinds())
	if err != nil {
		return nil, err
	}
	for i := range document.Partitions {
		if document.Partitions[i].Name == at.Name() {
			return &document.Partitions[i], nil
		}
	}
	return nil, fmt.Errorf("there is no partition %q in it", at.Name())
}
