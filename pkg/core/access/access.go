package access

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// all is the name of every user or group.
const all = "*"

var (
	userName  = regexp.MustCompile(`^[_a-zA-Z][a-zA-Z0-9:#/_.@-]*[$]?$`)
	groupName = regexp.MustCompile(`^[_a-zA-Z][a-zA-Z0-9:_.-]*$`)
)

// IsUserName reports whether a text can be the name of a user: a letter or _, then letters,
// digits and : # / _ . @ -, and at the end perhaps a $.
func IsUserName(text string) bool { return userName.MatchString(text) }

// IsGroupName reports whether a text can be the name of a group: a letter or _, then
// letters, digits and : _ . -
func IsGroupName(text string) bool { return groupName.MatchString(text) }

// A User is the one that an application belongs to.
type User struct {
	Name   string
	Groups []string
}

// A List is the users and groups that may do something. The zero value is none. It is
// immutable and may be read from any goroutine.
type List struct {
	text     string
	everyone bool
	users    map[string]bool
	groups   map[string]bool
}

// Parse reads a list: user names, a blank, and group names, each separated by commas
// alone, such as "ann,bob dev,ops". Either may be left out; a list of groups alone begins
// with the blank. * is every user, and nothing is none. Blanks at the end do not count.
func Parse(text string) (List, error) {
	l := List{text: strings.TrimRight(text, " ")}
	if strings.TrimSpace(text) == all {
		l.everyone = true
		return l, nil
	}
	users, groups, _ := strings.Cut(l.text, " ")
	groups = strings.TrimLeft(groups, " ")
	if strings.ContainsAny(users+groups, " \t\n") {
		return List{}, fmt.Errorf("%q has more than two parts: write users, one blank and groups, such as \"ann,bob dev,ops\", or *", text)
	}
	var err error
	if l.users, err = names(users, "user", IsUserName); err != nil {
		return List{}, err
	}
	if l.groups, err = names(groups, "group", IsGroupName); err != nil {
		return List{}, err
	}
	l.everyone = l.users[all] || l.groups[all]
	return l, nil
}

// names reads names that commas separate.
func names(text, what string, is func(string) bool) (map[string]bool, error) {
	if text == "" {
		return nil, nil
	}
	set := map[string]bool{}
	for name := range strings.SplitSeq(text, ",") {
		if name != all && !is(name) {
			return nil, fmt.Errorf("%q is no name of a %s", name, what)
		}
		set[name] = true
	}
	if set[all] && len(set) > 1 {
		return nil, fmt.Errorf("* is every %s, so it stands alone", what)
	}
	return set, nil
}

// Allows reports whether the list names a user or one of the groups.
func (l List) Allows(u User) bool {
	return l.everyone || l.users[u.Name] || slices.ContainsFunc(u.Groups, func(g string) bool { return l.groups[g] })
}

// IsNobody reports whether the list names no user and no group.
func (l List) IsNobody() bool { return !l.everyone && len(l.users) == 0 && len(l.groups) == 0 }

// Equal reports whether two lists were written alike.
func (l List) Equal(other List) bool { return l.text == other.text }

// String is the list as it was written.
func (l List) String() string { return l.text }
