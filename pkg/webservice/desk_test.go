package webservice

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
)

// A kitchen is a desk with one place, and counts what is made there. It makes a
// reply when it is told to.
type kitchen struct {
	*desk
	made int
	on   chan struct{}
}

func newKitchen() *kitchen {
	d := newDesk()
	d.places = make(chan struct{}, 1)
	return &kitchen{desk: d, on: make(chan struct{})}
}

func (k *kitchen) ask(ctx context.Context, method, target, accept string) *reply {
	r := httptest.NewRequestWithContext(ctx, method, target, nil)
	r.Header.Set("Accept-Encoding", accept)
	return k.reply(r, func() *reply {
		k.made++ // one at a time
		number := k.made
		<-k.on
		return &reply{status: number}
	})
}

// TestOneReplyForAllWhoWait has clients that come while another reply is made, and
// one that comes after theirs was begun.
func TestOneReplyForAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen()
		var clients sync.WaitGroup
		got := make([]*reply, 6)
		come := func(i int, method, target, accept string) {
			clients.Go(func() { got[i] = k.ask(t.Context(), method, target, accept) })
			synctest.Wait()
		}
		come(0, "GET", "/nodes", "")
		come(1, "GET", "/nodes", "") // too late for the first
		come(2, "HEAD", "/nodes", "")
		come(3, "GET", "/nodes", "gzip")
		come(4, "GET", "/nodes?limit=1", "")
		come(5, "POST", "/nodes", "")
		for range 5 {
			k.on <- struct{}{}
			synctest.Wait()
		}
		clients.Wait()
		assert.Equal(t, got[0].status, 1)
		assert.Assert(t, got[1] == got[2])
		assert.Assert(t, got[1] != got[0] && got[1] != got[3] && got[1] != got[4] && got[1] != got[5])
		assert.Equal(t, k.made, 5)
		assert.Equal(t, len(k.next), 0)
	})
}

// TestClientsThatGoAway do not wait, and nothing is made for them alone.
func TestClientsThatGoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen()
		var clients sync.WaitGroup
		clients.Go(func() { k.ask(t.Context(), "GET", "/first", "") })
		synctest.Wait()

		alone, leave := context.WithCancel(t.Context())
		clients.Go(func() { assert.Check(t, k.ask(alone, "GET", "/alone", "") == nil) })
		shared, leaveToo := context.WithCancel(t.Context())
		clients.Go(func() { k.ask(shared, "GET", "/shared", "") })
		synctest.Wait()
		clients.Go(func() { assert.Check(t, k.ask(t.Context(), "GET", "/shared", "") != nil) })
		impatient, leaveThree := context.WithCancel(t.Context())
		clients.Go(func() { assert.Check(t, k.ask(impatient, "GET", "/shared", "") == nil) })
		synctest.Wait()
		leave()
		leaveToo()
		leaveThree()
		synctest.Wait()

		k.on <- struct{}{} // the first
		k.on <- struct{}{} // the shared one
		clients.Wait()
		assert.Equal(t, k.made, 2)
	})
}

// TestFailedReply frees its place, and those who shared it get nothing.
func TestFailedReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen()
		var clients sync.WaitGroup
		clients.Go(func() { k.ask(t.Context(), "GET", "/first", "") })
		synctest.Wait()
		clients.Go(func() {
			defer func() { assert.Check(t, recover() != nil) }()
			k.reply(httptest.NewRequest(http.MethodGet, "/broken", nil), func() *reply { panic("broken") })
		})
		synctest.Wait()
		clients.Go(func() { assert.Check(t, k.ask(t.Context(), "GET", "/broken", "") == nil) })
		synctest.Wait()
		k.on <- struct{}{}
		clients.Wait()
		clients.Go(func() { assert.Check(t, k.ask(t.Context(), "GET", "/broken", "") != nil) })
		k.on <- struct{}{}
		clients.Wait()
	})
}
