package object

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func TestBucketOf(t *testing.T) {
	for _, c := range []struct {
		used, whole int64
		bucket      int
	}{
		{0, 10, 0},
		{1, 10, 0},
		{1, 100, 0},
		{10, 100, 0},
		{11, 100, 1},
		{20, 100, 1},
		{21, 200, 1},
		{100, 100, 9},
		{91, 100, 9},
		{90, 100, 8},
		{300, 100, 9},
		{2, 2, 9}, // GPUs
		{1, 2, 4},
		{1, 1, 9},
		{5, 8, 6},
		{1, 8, 1},
		{3, 2, 9},
		{-5, 100, 0},
		{resources.Unlimited, 1, 9},
		{resources.Unlimited, resources.Unlimited, 9},
	} {
		assert.Equal(t, bucketOf(c.used, c.whole), c.bucket, "%d of %d", c.used, c.whole)
	}
}

func TestShare(t *testing.T) {
	assert.Equal(t, share(1, 3, 100), int64(33))
	assert.Equal(t, share(resources.Unlimited, resources.Unlimited, 100), int64(100))
	assert.Equal(t, share(resources.Unlimited, 1, 100), int64(resources.Unlimited))
	assert.Equal(t, share(-1, 1, 100), int64(0))
}
