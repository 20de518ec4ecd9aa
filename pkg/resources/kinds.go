package resources

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// The kinds with a meaning of their own: VCore is counted in thousandths of a
// core, Memory in bytes. Every other kind is counted as it is given.
const (
	VCore  = "vcore"
	Memory = "memory"
)

// UnknownKind stands in amounts for all kinds that are not known. No node has it, and no
// message may name it.
const UnknownKind = "(unknown)"

// KindsMax is the most kinds one table holds, and NameMax the most bytes of a name. Kinds
// stay known for good, as views and records hold their numbers. So the bound is far above
// what nodes and configurations of a long time name, and such that a vector of all kinds
// can still be held for each node.
const (
	KindsMax = 1 << 14
	NameMax  = 512
)

// ErrTooManyKinds is returned for a new kind when the table is full.
var ErrTooManyKinds = errors.New("too many resource kinds")

// Kind is the number of a resource kind in its table.
type Kind int

// Kinds is a table of resource kinds. It only ever grows, so a number once
// given stays valid. The zero value is an empty table. All methods may be
// called from any goroutine; look-ups take no lock.
type Kinds struct {
	grow  sync.Mutex
	table atomic.Pointer[kindTable]

	of      *Kinds // the table that this one shares; nil for most
	brought int    // what it made known there
}

// kindTable is never changed once it is published. The newest kinds stand apart, so that
// a new one does not copy all there are.
type kindTable struct {
	names           []string
	numbers, newest map[string]Kind
}

// newestMax is how many kinds stand apart at most.
const newestMax = 128

func (k *Kinds) current() *kindTable {
	if k.of != nil {
		return k.of.current()
	}
	if t := k.table.Load(); t != nil {
		return t
	}
	return &kindTable{}
}

// Clone is a table of its own with the same kinds. What becomes known in one of them does not in the other.
func (k *Kinds) Clone() *Kinds {
	own, t := new(Kinds), k.current()
	own.table.Store(&kindTable{slices.Clip(t.names), t.numbers, t.newest})
	return own
}

func (k *Kinds) known() []string { return k.current().names }

// Len is the number of kinds known.
func (k *Kinds) Len() int { return len(k.known()) }

// Name is the name of a kind of this table.
func (k *Kinds) Name(kind Kind) string { return k.known()[kind] }

// Lookup finds a kind that is known.
func (k *Kinds) Lookup(name string) (Kind, bool) {
	t := k.current()
	kind, ok := t.numbers[name]
	if !ok {
		kind, ok = t.newest[name]
	}
	return kind, ok
}

// Intern is the number of a kind, which is added if it is new. It fails when
// the name is empty or too long, or the table is full.
func (k *Kinds) Intern(name string) (Kind, error) {
	if kind, ok := k.Lookup(name); ok {
		return kind, nil
	}
	if err := CheckName(name); err != nil {
		return 0, err
	}
	if k.of != nil {
		return k.internShared(name)
	}
	k.grow.Lock()
	defer k.grow.Unlock()
	if kind, ok := k.Lookup(name); ok {
		return kind, nil
	}
	old := k.current()
	if len(old.names) == KindsMax {
		return 0, fmt.Errorf("resource kind %q: %w, %d are known", name, ErrTooManyKinds, KindsMax)
	}
	// Names are appended beyond what those see that have the table already.
	kind, next := Kind(len(old.names)), &kindTable{append(old.names, name), old.numbers, map[string]Kind{}}
	maps.Copy(next.newest, old.newest)
	next.newest[name] = kind
	if len(next.newest) == newestMax {
		next.numbers = make(map[string]Kind, len(next.names))
		maps.Copy(next.numbers, old.numbers)
		maps.Copy(next.numbers, next.newest)
		next.newest = nil
	}
	k.table.Store(next)
	return kind, nil
}

// CheckName says what is wrong with the name of a kind.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("a resource kind without a name")
	case len(name) > NameMax:
		return fmt.Errorf("the name of a resource kind is longer than %d bytes: %.40q…", NameMax, name)
	}
	return nil
}

// Amounts builds a vector from quantities by name, adding kinds that are new.
// Zero quantities are left out.
func (k *Kinds) Amounts(quantities map[string]int64) (Amounts, error) {
	var a Amounts
	for _, name := range sortedKeys(quantities) {
		kind, err := k.Intern(name)
		if err != nil {
			return nil, err
		}
		a.Set(kind, quantities[name])
	}
	return a, nil
}

// Limits builds limits from quantities by name, adding kinds that are new. A
// quantity of zero is a limit of zero.
func (k *Kinds) Limits(quantities map[string]int64) (Limits, error) {
	var l Limits
	for _, name := range sortedKeys(quantities) {
		kind, err := k.Intern(name)
		if err != nil {
			return nil, err
		}
		l.Set(kind, quantities[name])
	}
	return l, nil
}

// sortedKeys keeps the numbering of kinds the same for the same input.
func sortedKeys(quantities map[string]int64) []string {
	names := make([]string, 0, len(quantities))
	for name := range quantities {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Map is the amounts by name, without zeros.
func (k *Kinds) Map(a Amounts) map[string]int64 {
	out := make(map[string]int64, len(a))
	for i, v := range a {
		if v != 0 {
			out[k.Name(Kind(i))] = v
		}
	}
	return out
}

// LimitMap is the limits by name, without the unlimited kinds.
func (k *Kinds) LimitMap(l Limits) map[string]int64 {
	out := make(map[string]int64, len(l))
	for i, v := range l {
		if v != Unlimited {
			out[k.Name(Kind(i))] = v
		}
	}
	return out
}

// Format prints amounts as "memory=1024 vcore=500", sorted by name, without
// zeros; nothing at all prints as "nothing".
func (k *Kinds) Format(a Amounts) string {
	return k.format(a, 0, "nothing")
}

// FormatLimits prints limits like Format; no limit at all prints as
// "unlimited".
func (k *Kinds) FormatLimits(l Limits) string {
	return k.format(l, Unlimited, "unlimited")
}

// format leaves out the kinds whose value says nothing.
func (k *Kinds) format(values []int64, silent int64, empty string) string {
	names := k.known()
	var few [8]Kind
	shown := few[:0]
	for i, v := range values {
		if v != silent {
			shown = append(shown, Kind(i))
		}
	}
	if len(shown) == 0 {
		return empty
	}
	slices.SortFunc(shown, func(a, b Kind) int { return strings.Compare(names[a], names[b]) })
	var short [128]byte
	text := short[:0]
	for i, kind := range shown {
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(append(text, names[kind]...), '=')
		text = strconv.AppendInt(text, values[kind], 10)
	}
	return string(text)
}

// Compare orders amounts by the first kind, by name, in which they differ. It
// is total and does not depend on the numbers of kinds.
func (k *Kinds) Compare(a, b Amounts) int {
	names := k.known()
	first, order := "", 0
	for i := range max(len(a), len(b)) {
		x, y := a.Of(Kind(i)), b.Of(Kind(i))
		if x != y && (order == 0 || names[i] < first) {
			first, order = names[i], cmp.Compare(x, y)
		}
	}
	return order
}
