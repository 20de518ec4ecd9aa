package utilization

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

// accountsOf makes nodes of four dimensions that are used to random parts.
func accountsOf(r *rand.Rand, count int) []*account {
	made := make([]*account, count)
	for i := range made {
		a := &account{known: true}
		for range 4 {
			all := r.Int64N(1000)
			a.all, a.used = append(a.all, all), append(a.used, r.Int64N(all+1)-5)
		}
		made[i] = a
	}
	return made
}

// TestRoomsAnswerLikeAScan has random pods move to random nodes, and a scan as its twin.
func TestRoomsAnswerLikeAScan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	yes, no := 0, 0
	for range 60 {
		accounts := accountsOf(r, r.IntN(20))
		takes := func(a *account) bool { return a.used[3]%3 != 0 }
		thresholds := []Percentage{full, 30_000, Percentage(r.Int64N(int64(full))), 70_000}
		rooms := newRooms(accounts, thresholds, takes)
		member := map[*account]bool{}
		for _, a := range accounts {
			member[a] = takes(a)
		}
		for range 60 {
			amounts := []int64{r.Int64N(500), r.Int64N(300), r.Int64N(300), r.Int64N(300)}
			want := slices.ContainsFunc(accounts, func(a *account) bool { return member[a] && a.holds(amounts, thresholds) })
			assert.Equal(t, rooms.hold(amounts), want, "%v of %d nodes", amounts, len(accounts))
			if want {
				yes++
			} else {
				no++
			}
			if len(accounts) == 0 {
				continue
			}
			a := accounts[r.IntN(len(accounts))]
			a.add(amounts, 1-2*r.Int64N(2))
			if r.IntN(2) == 0 {
				rooms.review(a)
				member[a] = takes(a)
			} else {
				rooms.update(a)
			}
			assert.Equal(t, rooms.has(a), member[a])
		}
	}
	assert.Assert(t, yes > 500 && no > 500, "%d yes and %d no", yes, no)
	outside := &account{all: make([]int64, 4), used: make([]int64, 4)}
	rooms := newRooms(nil, []Percentage{full, full, full, full}, anyAccount)
	rooms.update(outside)
	rooms.review(outside)
	assert.Assert(t, !rooms.has(outside) && !rooms.hold([]int64{0, 0, 0, 0}))
}

// TestRoomIsFoundWithFewLooks: on 50,000 nodes of which one has room, a question and a move
// look at one path, and a pod that is too large for all is refused at once.
func TestRoomIsFoundWithFewLooks(t *testing.T) {
	const count = 50_000
	accounts := make([]*account, count)
	for i := range accounts {
		accounts[i] = &account{all: []int64{1000, 1000}, used: []int64{1000, 0}, known: true}
	}
	accounts[count-1].used[0] = 0
	rooms := newRooms(accounts, []Percentage{full, full}, anyAccount)
	for range 10 {
		accounts[count-1].add([]int64{100, 0}, 1)
		rooms.update(accounts[count-1])
		assert.Equal(t, rooms.hold([]int64{1, 1}), accounts[count-1].used[0] < 1000)
		assert.Assert(t, !rooms.hold([]int64{0, 1001}))
	}
	assert.Assert(t, rooms.looks <= 10*(2*bits.Len(count)+2), "%d looks", rooms.looks)
	assert.Equal(t, testing.AllocsPerRun(10, func() { rooms.hold([]int64{1, 1}) }), 0.0)
}

// TestHugeAmountsHaveRoom: what is free is exact for any amounts.
func TestHugeAmountsHaveRoom(t *testing.T) {
	for _, c := range []struct {
		all  int64
		part Percentage
		want int64
	}{
		{math.MaxInt64, full, math.MaxInt64},
		{math.MaxInt64, 50_000, math.MaxInt64 / 2},
		{3, 50_000, 1},
		{-1, full, 0},
		{10, -1, 0},
		{0, full, 0},
	} {
		got := partOf(c.all, c.part)
		assert.Equal(t, got, c.want)
		if c.all > 0 && c.part > 0 {
			assert.Assert(t, !above(got, c.all, c.part))
			assert.Assert(t, got == c.all || above(got+1, c.all, c.part))
		}
	}
}
