package configuration

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// NodeSorting is the order of nodes.
type NodeSorting struct {
	Type            string             `json:"type"`
	ResourceWeights map[string]Decimal `json:"resourceWeights"`
	Devices         map[string]string  `json:"devices,omitempty"` // quantities as in a configuration
}

// NodeSortingOf is the order of nodes. Weights are written in parts of a unit that is
// the millionth of what people write.
func NodeSortingOf(order api.NodeOrder) *NodeSorting {
	out := &NodeSorting{Type: "fair", ResourceWeights: map[string]Decimal{}}
	switch {
	case len(order.Devices) > 0:
		out.Type, out.Devices = "devices", map[string]string{}
		for kind, size := range order.Devices {
			out.Devices[kind] = quantityText(kind, size)
		}
	case order.Packing:
		out.Type = "binpacking"
	}
	if order.Scarcity {
		out.Type = "scarcity"
	}
	for kind, weight := range order.Weights {
		out.ResourceWeights[kind] = decimalOf(weight)
	}
	if len(order.Weights) == 0 {
		out.ResourceWeights = map[string]Decimal{resources.Memory: "1", resources.VCore: "1"}
	}
	return out
}

// A Decimal is a number as it is written, in JSON and in YAML.
type Decimal string

// MarshalJSON writes the number.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d), nil }

// MarshalYAML writes the number.
func (d Decimal) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(d)}, nil
}

// decimalOf is millionths as a decimal number.
func decimalOf(millionths int64) Decimal {
	whole, part := millionths/1_000_000, millionths%1_000_000
	if part == 0 {
		return Decimal(strconv.FormatInt(whole, 10))
	}
	digits := strconv.FormatInt(part+1_000_000, 10)[1:]
	return Decimal(strconv.FormatInt(whole, 10) + "." + strings.TrimRight(digits, "0"))
}
