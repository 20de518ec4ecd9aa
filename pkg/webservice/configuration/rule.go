package configuration

import (
	"strconv"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
)

// A Rule is a placement rule as it is configured.
type Rule struct {
	Name       string            `json:"name"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Filter     *filterJSON       `json:"filter,omitempty"`
	ParentRule *Rule             `json:"parentRule,omitempty"`
}

// filterJSON says to which users and groups a rule applies. A single name that is a regular
// expression is an expression.
type filterJSON struct {
	Type      string   `json:"type,omitempty"`
	UserList  []string `json:"userList,omitempty"`
	GroupList []string `json:"groupList,omitempty"`
	UserExp   string   `json:"userExp,omitempty"`
	GroupExp  string   `json:"groupExp,omitempty"`
}

// FillRule is a rule as it is answered.
func FillRule(rule config.Rule, out *Rule) {
	*out = Rule{Name: rule.Name, Parameters: map[string]string{"create": strconv.FormatBool(rule.Create)}, Filter: filterOf(rule.Filter)}
	switch rule.Name {
	case "recovery":
		out.Parameters = map[string]string{"queue": rule.Value}
	case "fixed":
		out.Parameters["queue"] = rule.Value
		out.Parameters["qualified"] = strconv.FormatBool(strings.HasPrefix(rule.Value, "root."))
	case "tag":
		out.Parameters["tagName"] = rule.Value
	}
	if rule.Parent != nil {
		out.ParentRule = new(Rule)
		FillRule(*rule.Parent, out.ParentRule)
	}
}

func filterOf(f config.Filter) *filterJSON {
	if len(f.Users) == 0 && len(f.Groups) == 0 {
		return nil
	}
	out := &filterJSON{Type: "allow"}
	if f.Deny {
		out.Type = "deny"
	}
	out.UserList, out.UserExp = expression(f.Users)
	out.GroupList, out.GroupExp = expression(f.Groups)
	return out
}

// expression tells a regular expression from a list of names.
func expression(names []string) (list []string, single string) {
	if placement.IsPattern(names) {
		return nil, names[0]
	}
	return names, ""
}
