package webservice

import (
	"fmt"
	"net/http"
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

// A snapshot is one partition at one moment, with what is known of it besides.
type snapshot struct {
	*api.View
	kinds   *resources.Kinds
	cluster string            // the name of the resource manager; may be empty
	name    string            // of the partition, without it
	written *config.Partition // as it was configured; nil if that is not known
	past    *archive.Book     // what it has been; nil if that is not known
	// gone is the applications that ended and those that were rejected, the oldest
	// first, the same each time.
	gone func() (ended, rejected []*archive.ApplicationRecord)
	// evicted is the allocations that are being evicted on all nodes, found once.
	evicted func() map[api.AllocationKey]bool
	age     time.Duration    // of the view; zero if it is the current one
	now     func() time.Time // the clock
	// defaults are those of configuration texts.
	defaults config.Defaults
}

// snapshot is the partition that a request is about.
func (rd *reader) snapshot(r *http.Request) (*snapshot, error) {
	views := viewsOf(r)
	if len(views) == 0 {
		return nil, failure.Missing("Partition")
	}
	return rd.look(views[0])
}

// find is the partition with a name, which may leave out the resource manager. If
// two have partitions of that name it is that of the first.
func find(partitions []string, name string) (string, bool) {
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

// look makes the snapshot of one partition.
func (rd *reader) look(v requestView) (*snapshot, error) {
	if v.err != nil {
		if !slices.Contains(rd.config.Views.Partitions(), v.partition) {
			return nil, failure.Missing("Partition") // it was there a moment ago
		}
		return nil, fmt.Errorf("%w: %w", failure.ErrUnavailable, v.err)
	}
	at := &snapshot{View: v.view, kinds: rd.config.Kinds, past: rd.config.Archive.Book(v.partition), age: v.age, now: rd.config.Now, defaults: rd.config.Defaults}
	at.gone = sync.OnceValues(func() (ended, rejected []*archive.ApplicationRecord) { return at.past.Finished(at.now()) })
	at.evicted = sync.OnceValue(func() map[api.AllocationKey]bool { return evictionsOf(v.view) })
	at.cluster, at.name = split(v.partition)
	if document := rd.document(); document != nil {
		for i := range document.Definitions {
			if d := &document.Definitions[i]; strings.EqualFold(d.Name, at.name) {
				at.written = d
			}
		}
	}
	return at, nil
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

// all is the snapshots of all partitions, in the order of their names. One that
// is removed meanwhile is left out.
func (rd *reader) all(r *http.Request) ([]*snapshot, error) {
	var out []*snapshot
	for _, v := range viewsOf(r) {
		at, err := rd.look(v)
		if err == nil {
			out = append(out, at)
		} else if failure.StatusOf(err) != failure.StatusOf(failure.ErrMissing) {
			return nil, err
		}
	}
	return out, nil
}

// document is the configuration in use, or nil.
func (rd *reader) document() *config.Document {
	if rd.config.Configuration == nil {
		return nil
	}
	return rd.config.Configuration.Document()
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

// amounts is amounts by kind, without zeros.
func (at *snapshot) amounts(a resources.Amounts) encoder.Quantities { return at.kinds.Map(a) }

// limits is limits by kind, without what is unlimited.
func (at *snapshot) limits(l resources.Limits) encoder.Quantities { return at.kinds.LimitMap(l) }
