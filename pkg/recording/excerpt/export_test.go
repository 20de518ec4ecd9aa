package excerpt

import (
	"context"

	"github.com/narwhal-scheduler/narwhal/pkg/recording"
)

// BeginningsTried is how many beginnings are tried of how many that there are, where the outcome shows from the latest on, and from none
// as it was.
func BeginningsTried(d *recording.Directory, partition string, w recording.Wanted) (tried, all int, err error) {
	found, key, err := d.First(partition, w, nil)
	if err != nil {
		return 0, 0, err
	}
	found.Close()
	h, err := read(found.File, found.Steps)
	if err != nil {
		return 0, 0, err
	}
	o := h.outcome(w, key)
	o.node = "nowhere"
	r := &reducer{ctx: context.Background(), tried: map[uint64]bool{}}
	_, err = r.latest(h, &o)
	return r.played, len(h.views), err
}
