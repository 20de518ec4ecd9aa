package resources

import (
	"errors"
	"fmt"
	"slices"
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

// KindsMax is the most kinds one table holds. It bounds what a sender of
// made-up names can cost.
const KindsMax = 256

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
}

// kindTable is never changed once it is published.
type kindTable struct {
	names   []string
	numbers map[string]Kind
}

func (k *Kinds) current() *kindTable {
	if t := k.table.Load(); t != nil {
		return t
	}
	return &kindTable{}
}

// Len is the number of kinds known.
func (k *Kinds) Len() int { return len(k.current().names) }

// Name is the name of a kind of this table.
func (k *Kinds) Name(kind Kind) string { return k.current().names[kind] }

// Lookup finds a kind that is known.
func (k *Kinds) Lookup(name string) (Kind, bool) {
	kind, ok := k.current().numbers[name]
	return kind, ok
}

// Intern is the number of a kind, which is added if it is new. It fails when
// the name is empty or the table is full.
func (k *Kinds) Intern(name string) (Kind, error) {
	if kind, ok := k.Lookup(name); ok {
		return kind, nil
	}
	if name == "" {
		return 0, errors.New("a resource kind without a name")
	}
	k.grow.Lock()
	defer k.grow.Unlock()
	old := k.current()
	if kind, ok := old.numbers[name]; ok {
		return kind, nil
	}
	if len(old.names) == KindsMax {
		return 0, fmt.Errorf("resource kind %q: %w, %d are known", name, ErrTooManyKinds, KindsMax)
	}
	next := &kindTable{
		names:   append(slices.Clone(old.names), name),
		numbers: make(map[string]Kind, len(old.names)+1),
	}
	for i, n := range next.names {
		next.numbers[n] = Kind(i)
	}
	k.table.Store(next)
	return next.numbers[name], nil
}

// sorted lists the kinds numbered below n by name.
func (k *Kinds) sorted(n int) []Kind {
	t := k.current()
	kinds := make([]Kind, n)
	for i := range kinds {
		kinds[i] = Kind(i)
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return strings.Compare(t.names[a], t.names[b]) })
	return kinds
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
	var b strings.Builder
	for _, kind := range k.sorted(len(values)) {
		if values[kind] == silent {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%d", k.Name(kind), values[kind])
	}
	if b.Len() == 0 {
		return empty
	}
	return b.String()
}

// Compare orders amounts by the first kind, by name, in which they differ. It
// is total and does not depend on the numbers of kinds.
func (k *Kinds) Compare(a, b Amounts) int {
	for _, kind := range k.sorted(max(len(a), len(b))) {
		switch x, y := a.Of(kind), b.Of(kind); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
	}
	return 0
}
