package guarantee_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/guarantee"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestStanding: every case of how a queue stands to its guarantee. A kind that is used beyond
// what is guaranteed hides none of which less is used.
func TestStanding(t *testing.T) {
	const gpu = resources.Kind(2)
	of := func(vcore, gpus int64) (a resources.Amounts) {
		a.Set(0, vcore)
		a.Set(gpu, gpus)
		return a
	}
	for _, c := range []struct {
		name                      string
		guaranteed, used, pending resources.Amounts
		want                      guarantee.Standing
		lacking                   resources.Amounts
	}{
		{"nothing is guaranteed", nil, of(5, 5), of(1, 1), guarantee.Standing{}, nil},
		{"it uses nothing and nothing waits", of(10, 0), nil, nil, guarantee.Standing{State: guarantee.Within, Share: resources.ShareOf(0, 10)}, nil},
		{"it is used up exactly", of(10, 0), of(10, 0), of(5, 0), guarantee.Standing{State: guarantee.Within, Share: resources.ShareOf(10, 10)}, nil},
		{"it waits for what is guaranteed", of(10, 0), of(9, 0), of(3, 0), guarantee.Standing{State: guarantee.Under, Share: resources.ShareOf(9, 10)}, of(1, 0)},
		{"it waits for another kind", of(10, 0), of(9, 0), of(0, 3), guarantee.Standing{State: guarantee.Within, Share: resources.ShareOf(9, 10)}, nil},
		{"the kind that lacks most decides", of(10, 8), of(9, 2), of(1, 1), guarantee.Standing{State: guarantee.Under, Kind: gpu, Share: resources.ShareOf(2, 8)}, of(1, 1)},
		{"over in one kind", of(10, 8), of(9, 24), of(0, 1), guarantee.Standing{State: guarantee.Over, Kind: gpu, Share: resources.ShareOf(24, 8)}, nil},
		{"over in one kind, under in the other", of(10, 8), of(15, 0), of(4, 3), guarantee.Standing{State: guarantee.Under, Kind: gpu, Share: resources.ShareOf(0, 8)}, of(0, 3)},
		{"over in one kind, and nothing waits", of(10, 8), of(15, 0), nil, guarantee.Standing{State: guarantee.Over, Share: resources.ShareOf(15, 10)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &api.QueueView{Guaranteed: c.guaranteed, Used: c.used, Pending: c.pending}
			got := guarantee.StandingOf(q)
			assert.Equal(t, got.State, c.want.State)
			assert.Equal(t, got.Kind, c.want.Kind)
			assert.Equal(t, got.Share.Compare(c.want.Share), 0)
			for _, kind := range []resources.Kind{0, gpu} {
				assert.Equal(t, guarantee.Lacking(q, kind), c.lacking.Of(kind))
			}
		})
	}
}
