package ledger

import (
	"cmp"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// The orders of trees have names, so that a copy of a partition can have them too.

func nodeOrder(a, b *Node) bool               { return a.ID < b.ID }
func applicationOrder(a, b *Application) bool { return a.ID < b.ID }
func askOrder(a, b *Request) bool             { return a.InOrder(b) < 0 }

// memberOrder has the members of a group stand by their own priorities first.
func memberOrder(a, b *Request) bool {
	return cmp.Or(cmp.Compare(b.Within(), a.Within()), a.InOrder(b)) < 0
}

// A sizeOrder has the largest first.
type sizeOrder struct{ kinds *resources.Kinds }

func (o sizeOrder) less(a, b *Request) bool {
	return cmp.Or(o.kinds.Compare(b.Amounts, a.Amounts), a.InOrder(b)) < 0
}

// Orders are the functions that sort the trees of a ledger.
func (l *Ledger) Orders() []any {
	return []any{nodeOrder, applicationOrder, askOrder, memberOrder, sizeOrder{l.Kinds}.less}
}
