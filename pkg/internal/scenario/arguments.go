package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// arguments are what stands beside a verb. Each must be read; the first
// thing that could not be understood is kept as err.
type arguments struct {
	kinds *resources.Kinds
	names []string          // words without =, in order
	named map[string]string // words with =
	read  map[string]bool
	err   error
}

// known are the kinds of resources that need no slash in their name, so that a
// misspelt argument is not taken for one.
var known = []string{resources.VCore, resources.Memory, "disk", "gpu", "pods"}

func newArguments(kinds *resources.Kinds, words []string) *arguments {
	a := &arguments{kinds: kinds, named: map[string]string{}, read: map[string]bool{}}
	a.add(words)
	return a
}

func (a *arguments) add(words []string) {
	for _, word := range words {
		if key, value, ok := strings.Cut(word, "="); ok {
			a.named[key] = value
		} else {
			a.names = append(a.names, word)
		}
	}
}

// under is the arguments of a line below a verb with these arguments.
func (a *arguments) under(words []string) *arguments {
	line := newArguments(a.kinds, words)
	for key, value := range a.named {
		if _, ok := line.named[key]; !ok {
			line.named[key] = value
		}
	}
	line.names = append(line.names, a.names...)
	return line
}

// name takes the first word that is left; nothing if there is none.
func (a *arguments) name() string {
	if len(a.names) == 0 {
		return ""
	}
	name := a.names[0]
	a.names = a.names[1:]
	return name
}

// need is name for a word that must be there.
func (a *arguments) need(what string) string {
	name := a.name()
	if name == "" {
		a.fail("%s is missing", what)
	}
	return name
}

func (a *arguments) flag(name string) bool {
	i := slices.Index(a.names, name)
	if i < 0 {
		return false
	}
	a.names = slices.Delete(slices.Clone(a.names), i, i+1)
	return true
}

func (a *arguments) has(key string) bool {
	_, ok := a.named[key]
	return ok
}

func (a *arguments) text(key string) string {
	a.read[key] = true
	return a.named[key]
}

func (a *arguments) number(key string) int64 {
	text := a.text(key)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		a.fail("%s=%s is not a whole number", key, text)
	}
	return n
}

func (a *arguments) duration(key string) time.Duration {
	text := a.text(key)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		a.fail("%s=%s is not a duration", key, text)
	}
	return d
}

func (a *arguments) list(key string) []string {
	if text := a.text(key); text != "" {
		return strings.Split(text, ",")
	}
	return nil
}

// pairs reads a:b,c:d.
func (a *arguments) pairs(key string) map[string]string {
	if !a.has(key) {
		return nil
	}
	pairs := map[string]string{}
	for _, pair := range a.list(key) {
		name, value, ok := strings.Cut(pair, ":")
		if !ok {
			a.fail("%s=%s: write name:value", key, pair)
		}
		pairs[name] = value
	}
	return pairs
}

// amounts reads every argument that names a resource kind. Negative quantities
// are taken, for scenarios about refusals.
func (a *arguments) amounts() resources.Amounts {
	var amounts resources.Amounts
	for _, key := range slices.Sorted(maps.Keys(a.named)) {
		if !a.isKind(key) {
			continue
		}
		text, sign := a.text(key), int64(1)
		if rest, negative := strings.CutPrefix(text, "-"); negative {
			text, sign = rest, -1
		}
		if kind, quantity, ok := a.quantity(key, text); ok {
			amounts.Set(kind, sign*quantity)
		}
	}
	return amounts
}

// all reads the pairs of a list and each argument of one pair: tags=a:b and tag.NAME=value.
func (a *arguments) all(list, one string) map[string]string {
	pairs := a.pairs(list)
	for _, key := range slices.Sorted(maps.Keys(a.named)) {
		if name, ok := strings.CutPrefix(key, one); ok {
			pairs = withTag(pairs, name, a.text(key))
		}
	}
	return pairs
}

// quantities reads amounts as pairs, such as least=vcore:100m,memory:200Mi.
func (a *arguments) quantities(key string) (amounts resources.Amounts) {
	pairs := a.pairs(key)
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		if kind, quantity, ok := a.quantity(name, pairs[name]); ok {
			amounts.Set(kind, quantity)
		}
	}
	return amounts
}

// quantity reads how much of a kind there is.
func (a *arguments) quantity(name, text string) (kind resources.Kind, quantity int64, ok bool) {
	quantity, err := resources.ParseQuantity(name, text)
	if err != nil {
		a.fail("%s: %w", name, err)
		return 0, 0, false
	}
	if kind, err = a.kinds.Intern(name); err != nil {
		a.fail("%w", err)
	}
	return kind, quantity, err == nil
}

// isKind reports whether an argument is a quantity of a resource kind.
func (a *arguments) isKind(key string) bool {
	for _, other := range []string{tagged, unknown, attribute} {
		if strings.HasPrefix(key, other) {
			return false
		}
	}
	if IsKind(key) {
		return true
	}
	_, is := a.kinds.Lookup(key)
	return is
}

// quota reads quota=, what the queue made for an application may use, such as vcore:2, and how many
// applications may run there.
func (a *arguments) quota() *api.QueueQuota {
	if !a.has("quota") {
		return nil
	}
	quota := &api.QueueQuota{}
	for name, text := range a.pairs("quota") {
		if name == "applications" {
			quota.ApplicationsMax, _ = strconv.Atoi(text)
			continue
		}
		if kind, quantity, ok := a.quantity(name, text); ok {
			quota.Max.Set(kind, quantity)
		}
	}
	return quota
}

func (a *arguments) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

// finish reports what could not be understood, or what was not read.
func (a *arguments) finish() error {
	if a.err != nil {
		return a.err
	}
	for _, key := range slices.Sorted(maps.Keys(a.named)) {
		if !a.read[key] {
			return fmt.Errorf("nothing reads %s=%s", key, a.named[key])
		}
	}
	if len(a.names) > 0 {
		return fmt.Errorf("nothing reads %s", strings.Join(a.names, " "))
	}
	return nil
}

// IsKind reports whether a name is that of a resource kind without a word of the verb kinds.
func IsKind(name string) bool { return slices.Contains(known, name) || strings.Contains(name, "/") }
