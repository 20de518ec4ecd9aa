// Package configuration is the configuration as it is answered: all of it, in JSON and in
// YAML that can be loaded again, and the parts of it that objects have.
//
// Read in this order:
//
//	document.go   all of it
//	rule.go       placement rules
//	nodesort.go   the order of nodes
package configuration

import (
	"bytes"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Document is a configuration after validation, with what was left out
// filled in. The same types are written as YAML, which can be loaded again.
type Document struct {
	Partitions []partitionConfigJSON `yaml:",omitempty"`
	Checksum   string
	Extra      map[string]string `json:",omitempty" yaml:",omitempty"`
}

type partitionConfigJSON struct {
	Name              string
	Queues            []queueConfigJSON `yaml:",omitempty"`
	PlacementRules    []ruleConfigJSON  `json:",omitempty" yaml:",omitempty"`
	Preemption        preemptionConfigJSON
	NodeSortPolicy    nodeSortConfigJSON
	Topology          *topologyConfigJSON `json:",omitempty" yaml:",omitempty"`
	UserGroupResolver *resolverConfigJSON `json:",omitempty" yaml:",omitempty"`
}

type queueConfigJSON struct {
	Name            string
	Parent          bool                 `json:",omitempty" yaml:",omitempty"`
	Resources       *resourcesConfigJSON `json:",omitempty" yaml:",omitempty"`
	MaxApplications uint64               `json:",omitempty" yaml:",omitempty"`
	Properties      map[string]string    `json:",omitempty" yaml:",omitempty"`
	AdminACL        string               `json:",omitempty" yaml:",omitempty"`
	SubmitACL       string               `json:",omitempty" yaml:",omitempty"`
	ChildTemplate   *templateConfigJSON  `json:",omitempty" yaml:",omitempty"`
	Queues          []queueConfigJSON    `json:",omitempty" yaml:",omitempty"`
	Limits          []limitConfigJSON    `json:",omitempty" yaml:",omitempty"`
}

// resourcesConfigJSON holds quantities as people write them.
type resourcesConfigJSON struct {
	Guaranteed map[string]string `json:",omitempty" yaml:",omitempty"`
	Max        map[string]string `json:",omitempty" yaml:",omitempty"`
}

type templateConfigJSON struct {
	MaxApplications uint64               `json:",omitempty" yaml:",omitempty"`
	Properties      map[string]string    `json:",omitempty" yaml:",omitempty"`
	Resources       *resourcesConfigJSON `json:",omitempty" yaml:",omitempty"`
}

type limitConfigJSON struct {
	Limit           string            `json:",omitempty" yaml:",omitempty"`
	Users           []string          `json:",omitempty" yaml:",omitempty"`
	Groups          []string          `json:",omitempty" yaml:",omitempty"`
	MaxResources    map[string]string `json:",omitempty" yaml:",omitempty"`
	MaxApplications uint64            `json:",omitempty" yaml:",omitempty"`
}

type ruleConfigJSON struct {
	Name   string
	Create bool              `json:",omitempty" yaml:",omitempty"`
	Filter *filterConfigJSON `json:",omitempty" yaml:",omitempty"`
	Parent *ruleConfigJSON   `json:",omitempty" yaml:",omitempty"`
	Value  string            `json:",omitempty" yaml:",omitempty"`
}

type filterConfigJSON struct {
	Type   string
	Users  []string `json:",omitempty" yaml:",omitempty"`
	Groups []string `json:",omitempty" yaml:",omitempty"`
}

type nodeSortConfigJSON struct {
	Type            string
	ResourceWeights map[string]Decimal `json:",omitempty" yaml:",omitempty"`
	Devices         map[string]string  `json:",omitempty" yaml:",omitempty"`
}

type topologyConfigJSON struct {
	Levels [][]string
}

type resolverConfigJSON struct {
	Type string `json:"type" yaml:"type"`
}

// preemptionConfigJSON has, after two that clients know, the keys of this
// scheduler.
type preemptionConfigJSON struct {
	Enabled                bool
	QuotaPreemptionEnabled bool

	StartDelay        string `yaml:"preemption_start_delay"`
	Strategies        string `yaml:"preemption_victim_pods_selection_strategy"`
	Deviation         int64  `yaml:"preemption_victim_deviation"`
	VictimsMax        int    `yaml:"preemption_victims_max"`
	ForeignPods       bool   `yaml:"preemption_foreign_pods"`
	VictimTimeout     string `yaml:"preemption_victim_timeout"`
	Priority          string `yaml:"preemption_priority"`
	DisruptionBudgets string `yaml:"preemption_disruption_budgets"`
	VictimOrder       string `yaml:"preemption_victim_order"`
	LoopMax           int    `yaml:"preemption_loop_max"`
	LoopWindow        string `yaml:"preemption_loop_window"`
}

// YAML is the configuration as a text.
func (c *Document) YAML() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(c)
	return out.Bytes(), err
}

// Of is a document and the further settings of the resource manager.
func Of(d *config.Document, extra map[string]string) *Document {
	out := &Document{Partitions: []partitionConfigJSON{}, Checksum: d.Checksum, Extra: extra}
	for _, p := range d.Definitions {
		one := partitionConfigJSON{
			Name: p.Name, Queues: []queueConfigJSON{}, PlacementRules: rulesOf(p.Rules), Preemption: preemptionOf(p.Preemption),
			NodeSortPolicy: nodeSortConfigJSON(*NodeSortingOf(p.Nodes)),
		}
		if p.Root != nil {
			one.Queues = []queueConfigJSON{queueOf(p.Root)}
		}
		if len(p.Levels) > 0 {
			one.Topology = &topologyConfigJSON{p.Levels}
		}
		if p.Resolver != "" {
			one.UserGroupResolver = &resolverConfigJSON{p.Resolver}
		}
		out.Partitions = append(out.Partitions, one)
	}
	return out
}

func preemptionOf(p api.PreemptionConfig) preemptionConfigJSON {
	plan, order := p.RequiredNode, "age"
	if len(plan.Strategies) == 0 {
		plan = preemptor.DefaultConfig()
	}
	if p.ByQoS {
		order = "qos"
	}
	names := make([]string, len(plan.Strategies))
	for i, strategy := range plan.Strategies {
		names[i] = strategy.String()
	}
	return preemptionConfigJSON{
		Enabled: !p.Disabled, QuotaPreemptionEnabled: p.Quota,
		StartDelay: plan.StartDelay.String(), Strategies: strings.Join(names, ","), Deviation: plan.DeviationMax,
		VictimsMax: plan.VictimsMax, ForeignPods: !plan.SpareForeign, VictimTimeout: p.VictimTimeout.String(),
		Priority:          [...]string{api.StrictlyLower: "strict", api.EqualToo: "equal", api.PriorityOff: "off"}[p.Priority],
		DisruptionBudgets: [...]string{preemptor.PreferBudgets: "prefer", preemptor.StrictPriority: "strict", preemptor.HardBudgets: "hard"}[p.Budgets],
		VictimOrder:       order, LoopMax: p.LoopMax, LoopWindow: p.LoopWindow.String(),
	}
}

func queueOf(q *config.Queue) queueConfigJSON {
	out := queueConfigJSON{
		Name: q.Name, Parent: q.Parent, Resources: resourcesOf(q.Guaranteed, q.Max), MaxApplications: q.ApplicationsMax,
		Properties: q.Properties, AdminACL: q.AdminACL.String(), SubmitACL: q.SubmitACL.String(),
	}
	if t := q.Template; t != nil {
		out.ChildTemplate = &templateConfigJSON{t.ApplicationsMax, t.Properties, resourcesOf(t.Guaranteed, t.Max)}
	}
	for _, child := range q.Queues {
		out.Queues = append(out.Queues, queueOf(child))
	}
	for _, l := range q.Limits {
		out.Limits = append(out.Limits, limitConfigJSON{l.Text, l.Users, l.Groups, quantityTexts(l.Max), l.ApplicationsMax})
	}
	return out
}

func rulesOf(rules []config.Rule) []ruleConfigJSON {
	var out []ruleConfigJSON
	for _, rule := range rules {
		out = append(out, *ruleOf(&rule))
	}
	return out
}

func ruleOf(rule *config.Rule) *ruleConfigJSON {
	if rule == nil {
		return nil
	}
	out := &ruleConfigJSON{Name: rule.Name, Create: rule.Create, Parent: ruleOf(rule.Parent), Value: rule.Value}
	if f := filterOf(rule.Filter); f != nil {
		out.Filter = &filterConfigJSON{f.Type, rule.Filter.Users, rule.Filter.Groups}
	}
	return out
}

func resourcesOf(guaranteed, most config.Quantities) *resourcesConfigJSON {
	if len(guaranteed) == 0 && len(most) == 0 {
		return nil
	}
	return &resourcesConfigJSON{quantityTexts(guaranteed), quantityTexts(most)}
}

// quantityTexts are amounts as people write them: of vcore cores, or thousandths.
func quantityTexts(q config.Quantities) map[string]string {
	if len(q) == 0 {
		return nil
	}
	out := make(map[string]string, len(q))
	for kind, quantity := range q {
		out[kind] = quantityText(kind, quantity.Value)
	}
	return out
}

// quantityText is an amount of a kind as a configuration has it.
func quantityText(kind string, value int64) string {
	switch {
	case kind == resources.VCore && value%1000 == 0:
		return strconv.FormatInt(value/1000, 10)
	case kind == resources.VCore:
		return strconv.FormatInt(value, 10) + "m"
	default:
		return strconv.FormatInt(value, 10)
	}
}
