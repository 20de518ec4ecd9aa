package driver

// A happening is a kind of entry.
type happening uint8

const (
	asked    happening = iota // a pod was sent, to be placed
	runs                      // a pod was sent that runs already
	placed                    // the core says that a pod runs on a node
	released                  // the end of a pod was sent
	evicted                   // the core asks for the end of a pod; its confirmation is released
	refused                   // the core refuses a pod, with a reason in place of a node
)

// An entry is one thing that was sent, before it was sent, or heard. It has no pointer into
// messages, so that those can be collected.
type entry struct {
	what      happening
	key, node string
}

// remember appends to the log. The lock must be held.
func (d *Driver) remember(what happening, key, node string) {
	d.log = append(d.log, entry{what, key, node})
}

// ExpectEntries makes room in the log, so that what is measured does not grow it. The room is
// written to: the first write to a page of memory takes longer than an entry of the log.
func (d *Driver) ExpectEntries(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	room := make([]entry, len(d.log)+n)
	clear(room)
	d.log = room[:copy(room, d.log)]
}
