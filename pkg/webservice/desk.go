package webservice

import (
	"net/http"
	"runtime"
	"sync"
)

// A desk makes replies: few at a time, so that half of the processors are left to
// the scheduler however many clients there are, and one for all who came with the
// same request and the same views before it was begun. Its memory grows with what is
// asked for, not with who asks.
//
// Nobody gets a reply that was begun before the request came.
type desk struct {
	places chan struct{} // taken by who makes a reply

	mu   sync.Mutex
	next map[string]*order // not begun yet, by what they are for
}

// An order is a reply that is waited for.
type order struct {
	ready chan struct{} // closed when it is made
	made  *reply        // nil if that failed
	users int32         // who wait for it
}

func newDesk() *desk {
	return &desk{places: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), next: map[string]*order{}}
}

// reply is the reply to a request. It is nil if the client went away before it was
// begun, or if it is shared and whoever made it failed with a panic.
func (d *desk) reply(r *http.Request, write func() *reply) *reply {
	key, mine := subject(r), &order{ready: make(chan struct{}), users: 1}
	if key != "" {
		if theirs := d.join(key, mine); theirs != nil {
			select {
			case <-theirs.ready:
				return theirs.made
			case <-r.Context().Done():
				return nil
			}
		}
	}
	defer close(mine.ready)
	d.places <- struct{}{}
	defer func() { <-d.places }()
	users := d.begin(key, mine)
	if users == 1 && r.Context().Err() != nil {
		return nil
	}
	made := write()
	made.users.Store(users)
	mine.made = made
	return made
}

// join is the order of others for the same, or nil if there is none; then it is
// mine that others join.
func (d *desk) join(key string, mine *order) *order {
	d.mu.Lock()
	defer d.mu.Unlock()
	if theirs := d.next[key]; theirs != nil {
		theirs.users++
		return theirs
	}
	d.next[key] = mine
	return nil
}

// begin lets nobody join an order any more, and says how many wait for it.
func (d *desk) begin(key string, mine *order) (users int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if key != "" {
		delete(d.next, key)
	}
	return mine.users
}

// subject is what a request is about, and what it sees of that: two with the same get
// the same reply. It is empty for one with a body, which is like no other.
func subject(r *http.Request) string {
	if r.Method == http.MethodPost {
		return ""
	}
	packed := "plain"
	if acceptsGzip(r.Header) {
		packed = "gzip"
	}
	return packed + " " + r.Header.Get("Accept") + " " + r.URL.RequestURI() + sightOf(r).name()
}
