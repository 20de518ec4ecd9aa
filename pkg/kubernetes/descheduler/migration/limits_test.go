package migration

import (
	"math"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestMostOf(t *testing.T) {
	for _, c := range []struct {
		limit    string // empty is none
		replicas int
		want     int
	}{
		{"", 1, 1},
		{"", 3, 1},
		{"", 4, 2},
		{"", 10, 2},
		{"", 11, 1},
		{"", 20, 2},
		{"", 100, 10},
		{"1", 100, 1},
		{"0", 100, 0},
		{"10%", 3, 1},
		{"1%", 99, 1},
		{"50%", 5, 2},
		{"100%", 5, 5},
		{"0%", 100, 0},
	} {
		var limit *intstr.IntOrString
		if c.limit != "" {
			limit = new(intstr.Parse(c.limit))
		}
		assert.Equal(t, mostOf(limit, c.replicas), c.want, "%q of %d", c.limit, c.replicas)
	}
}

// More than one eviction in a nanosecond is no bound, and no division by zero.
func TestBucketOfAnyRate(t *testing.T) {
	for _, rate := range []PerSecond{1, PerSecond(time.Second), 10 * PerSecond(time.Second), math.MaxFloat64} {
		b := newBucket(rate, 1)
		now := time.Unix(1000, 0)
		assert.Equal(t, b.take(now), time.Duration(0))
		assert.Assert(t, b.take(now) > 0)
		assert.Equal(t, b.take(now.Add(time.Second)), time.Duration(0))
	}
}

// A rate may have a fraction, or be less than one.
func TestBucketOfFractions(t *testing.T) {
	for _, c := range []struct {
		rate PerSecond
		want time.Duration
	}{{0.5, 2 * time.Second}, {2.5, 400 * time.Millisecond}, {slowest, 100_000 * time.Second}} {
		b := newBucket(c.rate, 1)
		now := time.Unix(1000, 0)
		assert.Equal(t, b.take(now), time.Duration(0))
		assert.Equal(t, b.take(now).Round(time.Microsecond), c.want)
		assert.Equal(t, b.take(now.Add(c.want+1)), time.Duration(0))
	}
}

// A bucket gives as many as it holds, and then one after the other. D-K-PMJ-2.
func TestBucket(t *testing.T) {
	now := time.Unix(1000, 0)
	b := newBucket(10, 2)
	assert.Equal(t, b.take(now), time.Duration(0))
	assert.Equal(t, b.take(now), time.Duration(0))
	assert.Equal(t, b.take(now), 100*time.Millisecond)
	assert.Equal(t, b.take(now.Add(40*time.Millisecond)), 60*time.Millisecond)
	given := 0
	for i := range 1000 {
		if b.take(now.Add(time.Duration(i)*10*time.Millisecond)) == 0 {
			given++
		}
	}
	assert.Equal(t, given, 99) // in 9.99 seconds
	assert.Equal(t, b.take(now.Add(time.Hour)), time.Duration(0))
	assert.Equal(t, b.take(now.Add(time.Hour)), time.Duration(0))
	assert.Equal(t, b.take(now.Add(time.Hour)), 100*time.Millisecond)
}
