package webservice

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// ruleJSON is a placement rule as it is configured.
type ruleJSON struct {
	Name       string            `json:"name"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Filter     *filterJSON       `json:"filter,omitempty"`
	ParentRule *ruleJSON         `json:"parentRule,omitempty"`
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

// rules answers GET /ws/v1/partition/{partition}/placementrules.
func rules(at *snapshot, r *http.Request) (any, error) {
	return query.List(r, at.kinds, at.rules(), fillRule)
}

// rules are those of the configuration and the one that follows them, for applications whose
// pods run and that no other takes. They are empty where the configuration is not known.
func (at *snapshot) rules() []config.Rule {
	if at.written == nil {
		return nil
	}
	recovery := config.Rule{Name: "recovery", Value: string(api.RecoveryQueue)}
	return append(slices.Clip(at.written.Rules), recovery)
}

func fillRule(rule config.Rule, out *ruleJSON) {
	*out = ruleJSON{Name: rule.Name, Parameters: map[string]string{"create": strconv.FormatBool(rule.Create)}, Filter: filterOf(rule.Filter)}
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
		out.ParentRule = new(ruleJSON)
		fillRule(*rule.Parent, out.ParentRule)
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
