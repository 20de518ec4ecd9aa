package object

import (
	"math/bits"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// A Snapshot is one partition at one moment, with what is known of it besides.
type Snapshot struct {
	*api.View
	from    *Sources
	kinds   *resources.Kinds
	cluster string            // the name of the resource manager; may be empty
	name    string            // of the partition, without it
	full    string            // with it
	written *config.Partition // as it was configured; nil if that is not known
	past    *archive.Book     // what it has been; nil if that is not known
	// gone is the applications that ended and those that were rejected, the oldest
	// first, the same each time.
	gone func() (ended, rejected []*archive.ApplicationRecord)
	// evicted is the allocations that are being evicted on all nodes, found once.
	evicted func() map[api.AllocationKey]bool
	age     time.Duration // of the view; zero if it is the current one
}

// Snapshot is a partition with a name as a view of some age shows it.
func (from *Sources) Snapshot(partition string, view *api.View, age time.Duration) *Snapshot {
	at := &Snapshot{View: view, from: from, kinds: from.Kinds, past: from.Archive.Book(partition), age: age, full: partition}
	at.gone = sync.OnceValues(func() (ended, rejected []*archive.ApplicationRecord) { return at.past.Finished(from.Now()) })
	at.evicted = sync.OnceValue(func() map[api.AllocationKey]bool { return evictionsOf(view) })
	at.cluster, at.name = split(partition)
	if document := from.Document(); document != nil {
		for i := range document.Definitions {
			if d := &document.Definitions[i]; strings.EqualFold(d.Name, at.name) {
				at.written = d
			}
		}
	}
	return at
}

// Kinds is the table of the kinds in the view.
func (at *Snapshot) Kinds() *resources.Kinds { return at.kinds }

// FullName is the name of the partition with the resource manager.
func (at *Snapshot) FullName() string { return at.full }

// Name is the name of the partition, without the resource manager.
func (at *Snapshot) Name() string { return at.name }

// Past is what the partition has been; nil if that is not known.
func (at *Snapshot) Past() *archive.Book { return at.past }

// Age is how old the view is; zero if it is the current one.
func (at *Snapshot) Age() time.Duration { return at.age }

// Now is the time of now.
func (at *Snapshot) Now() time.Time { return at.from.Now() }

// Defaults are those of configuration texts.
func (at *Snapshot) Defaults() config.Defaults { return at.from.Defaults }

// Find is the partition with a name, which may leave out the resource manager. If
// two have partitions of that name it is that of the first.
func Find(partitions []string, name string) (string, bool) {
	if slices.Contains(partitions, name) {
		return name, true
	}
	for _, full := range partitions {
		if _, short := split(full); short == name {
			return full, true
		}
	}
	return "", false
}

// split is the resource manager and the name of a partition.
func split(full string) (cluster, name string) {
	if inside, ok := strings.CutPrefix(full, "["); ok {
		if cluster, name, ok = strings.Cut(inside, "]"); ok {
			return cluster, name
		}
	}
	return "", full
}

func evictionsOf(v *api.View) map[api.AllocationKey]bool {
	evicted := map[api.AllocationKey]bool{}
	for _, n := range v.Nodes {
		for _, one := range n.Evictions {
			evicted[one.Key] = true
		}
	}
	return evicted
}

// percent is the part of each kind that is used, in whole percent; kinds of which
// there is nothing, or nothing is used, are left out.
func percent(used, of resources.Amounts) resources.Amounts {
	var out resources.Amounts
	for k := range used {
		kind := resources.Kind(k)
		if whole := of.Of(kind); whole > 0 && used[k] > 0 {
			out.Set(kind, share(used[k], whole, 100))
		}
	}
	return out
}

// share is part of whole, which is above zero, in units of 1/of, rounded down. The
// product has 128 bits; what does not fit the result is as large as can be.
func share(part, whole, of int64) int64 {
	if part <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(part), uint64(of))
	if high >= uint64(whole) {
		return resources.Unlimited
	}
	quotient, _ := bits.Div64(high, low, uint64(whole))
	return int64(min(quotient, resources.Unlimited))
}

// Amounts is amounts by kind, without zeros.
func (at *Snapshot) Amounts(a resources.Amounts) encoder.Quantities { return at.kinds.Map(a) }

// Limits is limits by kind, without what is unlimited.
func (at *Snapshot) Limits(l resources.Limits) encoder.Quantities { return at.kinds.LimitMap(l) }

// unescaped is a part of the path, unescaped once more: clients escape names of
// queues and users twice, since a path cannot hold every name otherwise.
func unescaped(r *http.Request, name string) (string, error) {
	value, err := url.PathUnescape(r.PathValue(name))
	if err != nil || value == "" {
		return "", failure.Bad("Invalid %s name", name)
	}
	return value, nil
}
