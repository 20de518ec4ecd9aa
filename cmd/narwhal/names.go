package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// namesShown is the most names that an error lists.
const namesShown = 10

// namesOf are the names that flags can have, by flag: all that a scheduler has.
var namesOf = map[string]func(ctx context.Context, c *client.Client) ([]string, error){
	"queue":  queueNames,
	"node":   nodeNames,
	"user":   userNames,
	"level":  domainNames(func(d *client.Domain) string { return d.Level }),
	"domain": domainNames(func(d *client.Domain) string { return d.Name }),
	"parent": domainNames(func(d *client.Domain) string { return d.Name }),
}

func queueNames(ctx context.Context, c *client.Client) ([]string, error) {
	answer, err := c.Queues(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	var see func(q *client.Queue)
	see = func(q *client.Queue) {
		names = append(names, q.Name)
		for _, child := range q.Children {
			see(child)
		}
	}
	see(answer.Value)
	return names, nil
}

func nodeNames(ctx context.Context, c *client.Client) ([]string, error) {
	answer, err := c.Nodes(ctx, url.Values{"fields": {"nodeID"}})
	var names []string
	for _, n := range answer.Value {
		names = append(names, n.Name)
	}
	return names, err
}

// userNames are the users of which anything runs, waits or came lately.
func userNames(ctx context.Context, c *client.Client) ([]string, error) {
	answer, err := c.Users(ctx)
	var names []string
	for _, u := range answer.Value {
		names = append(names, u.User)
	}
	return names, err
}

func domainNames(of func(d *client.Domain) string) func(ctx context.Context, c *client.Client) ([]string, error) {
	return func(ctx context.Context, c *client.Client) ([]string, error) {
		answer, err := c.Domains(ctx)
		var names []string
		for _, d := range answer.Value {
			if name := of(d); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names, err
	}
}

// unknown says which flag of a list that is empty names what there is not. A scheduler that
// does not tell the names is not an error: the list is empty.
func (l *list) unknown(ctx context.Context, c *client.Client) error {
	for _, flag := range slices.Sorted(maps.Keys(l.picked)) {
		value := *l.picked[flag]
		if value == "" || namesOf[flag] == nil || flag == "user" && l.picked["day"] != nil { // unknownWork has looked
			continue
		}
		names, err := namesOf[flag](ctx, c)
		if err == nil && !slices.ContainsFunc(names, matching(value)) {
			return noSuch(flag, value, names)
		}
	}
	return nil
}

// unknownWork says which day or user of a list of work that is empty there is not. All is the days and users of the list without these; a
// user that has none of it is known if anything else is of it.
func (l *list) unknownWork(ctx context.Context, c *client.Client, all func(where url.Values) (days, users []string, err error)) error {
	if day := *l.picked["day"]; day != "" && !isDay(day) {
		return &usageError{fmt.Errorf("--day %q is no day such as 2026-01-31, and no beginning of one with * at its end", day)}
	}
	where := l.where()
	where.Del("day")
	where.Del("user")
	where.Del("limit")
	days, users, err := all(where)
	if err != nil {
		return err
	}
	if *l.picked["user"] != "" {
		active, err := userNames(ctx, c)
		if err != nil {
			return err
		}
		users = append(users, active...)
	}
	for _, of := range []struct {
		flag  string
		names []string
	}{{"day", days}, {"user", users}} {
		slices.Sort(of.names)
		names := slices.DeleteFunc(slices.Compact(of.names), func(name string) bool { return name == "" })
		if value := *l.picked[of.flag]; value != "" && (of.flag == "user" || len(names) > 0) && !slices.ContainsFunc(names, matching(value)) {
			return noSuch(of.flag, value, names)
		}
	}
	return nil
}

// isDay reports whether a text is a day, or the beginning of one with * at its end.
func isDay(text string) bool {
	prefix, ok := strings.CutSuffix(text, "*")
	if !ok {
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	}
	year := prefix[:min(4, len(prefix))]
	if strings.Trim(year, "0123456789") != "" {
		return false
	}
	for day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() == 2000; day = day.AddDate(0, 0, 1) { // a leap year has all
		if strings.HasPrefix(day.Format("-01-02"), prefix[len(year):]) {
			return true
		}
	}
	return false
}

// matching is whether a name is meant by a value, which may end with *. Names of queues are in
// any case.
func matching(value string) func(name string) bool {
	if prefix, ok := strings.CutSuffix(value, "*"); ok {
		return func(name string) bool { return strings.HasPrefix(name, prefix) }
	}
	return func(name string) bool { return strings.EqualFold(name, value) }
}

// noSuch says that there is nothing of a name, and what there is: those names first that
// begin like it.
func noSuch(what, value string, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("there is no %s %q; there is none at all", what, value)
	}
	near := slices.SortedStableFunc(slices.Values(names), func(a, b string) int { return cmp.Compare(alike(b, value), alike(a, value)) })
	shown := strings.Join(near[:min(len(near), namesShown)], ", ")
	if more := len(near) - namesShown; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("there is no %s %q; there are %s", what, value, shown)
}

// alike is how many bytes two texts have in common at the beginning.
func alike(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// checkKinds says which kind there is not.
func checkKinds(picked, kinds []string) error {
	for _, kind := range picked {
		if !client.HasKind(kinds, kind) {
			return noSuch("kind", kind, kinds)
		}
	}
	return nil
}

// completesNames offers the names of a flag to the shell, as the scheduler knows them that the
// other flags name.
func (c *connection) completesNames(cmd *cobra.Command, flag string, names func(context.Context, *client.Client) ([]string, error)) {
	// The error is that there is no such flag, which a test would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		asked, err := c.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := within(cmd.Context())
		defer cancel()
		all, err := names(ctx, asked)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	})
}
