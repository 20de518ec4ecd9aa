package placement

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
)

// A Filter says to which users a rule applies: those that are named, or all but those. The
// zero value applies to every user.
type Filter struct {
	Deny          bool // applies to all but the named
	Users, Groups Names
}

// applies reports whether a rule with the filter applies to a user. A filter that names
// none applies to every user, or with Deny to none.
func (f Filter) applies(u access.User) bool {
	if f.Users.isEmpty() && f.Groups.isEmpty() {
		return !f.Deny
	}
	named := f.Users.has(u.Name) || slices.ContainsFunc(u.Groups, f.Groups.has)
	return named != f.Deny
}

// Names are some names, or one regular expression. The zero value is none.
type Names struct {
	names   []string
	pattern *regexp.Regexp
}

// patternSigns make a regular expression of a single name. A $ at the end does not, as names
// of machines end with it.
const patternSigns = "^$*+?()[{}|"

// IsPattern reports whether names are one regular expression.
func IsPattern(names []string) bool {
	return len(names) == 1 && strings.ContainsAny(strings.TrimSuffix(names[0], "$"), patternSigns)
}

// NewNames reads names. A single one may be a regular expression, which matches any part of
// a name.
func NewNames(names []string) (Names, error) {
	if !IsPattern(names) {
		return Names{names: slices.Clone(names)}, nil
	}
	pattern, err := regexp.Compile(names[0])
	if err != nil {
		return Names{}, fmt.Errorf("%q is no regular expression: %w", names[0], err)
	}
	return Names{pattern: pattern}, nil
}

// Equal reports whether both are the same names, or the same expression.
func (n Names) Equal(other Names) bool {
	if n.pattern == nil || other.pattern == nil {
		return n.pattern == other.pattern && slices.Equal(n.names, other.names)
	}
	return n.pattern.String() == other.pattern.String()
}

// Texts are the names, or the expression, as NewNames takes them.
func (n Names) Texts() []string {
	if n.pattern != nil {
		return []string{n.pattern.String()}
	}
	return n.names
}

func (n Names) isEmpty() bool { return n.pattern == nil && len(n.names) == 0 }

func (n Names) has(name string) bool {
	if n.pattern != nil {
		return n.pattern.MatchString(name)
	}
	return slices.Contains(n.names, name)
}
