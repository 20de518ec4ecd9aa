package ledger

import "github.com/narwhal-scheduler/narwhal/pkg/resources"

// nodeDetails are what few nodes have. They are apart from the node, as the garbage collector
// treats objects of more than 512 bytes one by one. The zero value is that of a node without any.
type nodeDetails struct{ own *details }

// details are the values of nodeDetails.
type details struct {
	claimed resources.Sum
	stays   resources.Sum // what leaves only with the node
	assumed resources.Sum // of what runs there and asks for nothing of a kind
	Evicted int           // how many of own and foreign are evicted, overdue ones too
}

// NoDetails are those of all nodes that have none of their own. They are never changed.
var noDetails details

// Read is for reading only: nodes share what is empty.
func (d nodeDetails) Read() *details {
	if d.own == nil {
		return &noDetails
	}
	return d.own
}

// change is for changes.
func (d *nodeDetails) change() *details {
	if d.own == nil {
		d.own = new(details)
	}
	return d.own
}
