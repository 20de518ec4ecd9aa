package archive

import (
	"context"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An AccountRow is the work of a user in a queue on a day in one kind, as it is kept beyond the life of a process: amounts
// times seconds. Of the kind EvictionsKind it counts pods: Wasted those that were preempted, Preempted those that were for
// asks of the user.
type AccountRow struct {
	Partition, Day, Queue, User, Kind string
	Used, Wasted, Preempted           float64
}

// An Accounting keeps work beyond the life of a process, as accounting.Store does.
type Accounting interface {
	// Add adds work. What it cannot keep now it keeps with a later call.
	Add(ctx context.Context, rows []AccountRow) error
	// Rows is the work of a partition on the days that begin with a text, the last day first, then by queue and user.
	Rows(ctx context.Context, partition, day string) ([]AccountRow, error)
	Close() error
}

// EvictionsKind is the kind of a row that counts pods.
const EvictionsKind = "(evictions)"

// RowsOf are the rows of accounts, those without anything left out.
func RowsOf(kinds *resources.Kinds, partition string, all []Account) (out []AccountRow) {
	at := func(list []float64, i int) float64 {
		if i < len(list) {
			return list[i]
		}
		return 0
	}
	for _, a := range all {
		row := AccountRow{Partition: partition, Day: a.Day, Queue: string(a.Queue), User: a.User}
		for i := range max(len(a.Used), len(a.Wasted), len(a.Preempted)) {
			one := row
			one.Kind, one.Used, one.Wasted, one.Preempted = kinds.Name(resources.Kind(i)), at(a.Used, i), at(a.Wasted, i), at(a.Preempted, i)
			if one.Used != 0 || one.Wasted != 0 || one.Preempted != 0 {
				out = append(out, one)
			}
		}
		if a.Evicted > 0 || a.Evictions > 0 {
			row.Kind, row.Wasted, row.Preempted = EvictionsKind, float64(a.Evicted), float64(a.Evictions)
			out = append(out, row)
		}
	}
	return out
}
