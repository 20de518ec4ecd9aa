package simulator

import (
	"math/bits"
	"time"
)

// bucketsMax is how many points a series has at most. When a run gets longer
// than that many steps, the step doubles.
const bucketsMax = 512

// An integral is a sum of quantity times milliseconds. It has 128 bits: the
// memory of a large cluster in bytes over months does not fit into 64.
type integral struct{ hi, lo uint64 }

// add adds a quantity, which must not be negative, over a time.
func (s *integral) add(quantity int64, d time.Duration) {
	hi, lo := bits.Mul64(uint64(quantity), uint64(d/tick))
	s.plus(integral{hi, lo})
}

func (s *integral) plus(other integral) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, other.lo, 0)
	s.hi, _ = bits.Add64(s.hi, other.hi, carry)
}

// mean is the mean quantity over a time, rounded down; nothing over no time.
func (s integral) mean(d time.Duration) int64 {
	whole := uint64(d / tick)
	if whole == 0 {
		return 0
	}
	quotient, _ := bits.Div64(s.hi, s.lo, whole) // s.hi < whole, as a mean fits 63 bits
	return int64(quotient)
}

// A meter follows quantities over virtual time, exactly: means are integrals,
// not samples.
type meter struct {
	now      time.Duration
	step     time.Duration // length of a bucket
	counters []*counter
}

func newMeter() *meter { return &meter{step: time.Second} }

// A counter is a quantity that changes over time.
type counter struct {
	value   int64 // now
	peak    int64 // the most that lasted for any time
	since   time.Duration
	total   integral
	buckets []bucket
}

// A bucket is one step of a series.
type bucket struct {
	sum  integral
	peak int64
}

func (m *meter) counter() *counter {
	c := &counter{since: m.now, buckets: make([]bucket, 0, bucketsMax)} // advance makes no more
	m.counters = append(m.counters, c)
	return c
}

// advance moves the time on, and makes steps longer when there are too many.
func (m *meter) advance(now time.Duration) {
	m.now = now
	for now > m.step*bucketsMax {
		for _, c := range m.counters {
			c.double()
		}
		m.step *= 2
	}
}

func (c *counter) double() {
	half := (len(c.buckets) + 1) / 2
	for i := range half {
		b := c.buckets[2*i]
		if 2*i+1 < len(c.buckets) {
			b.sum.plus(c.buckets[2*i+1].sum)
			b.peak = max(b.peak, c.buckets[2*i+1].peak)
		}
		c.buckets[i] = b
	}
	c.buckets = c.buckets[:half]
}

// change adds to a counter.
func (m *meter) change(c *counter, by int64) {
	if by != 0 {
		m.flush(c)
		c.value += by
	}
}

// flush books the value of the counter up to now.
func (m *meter) flush(c *counter) {
	if c.since == m.now {
		return
	}
	value := max(c.value, 0)
	c.total.add(value, m.now-c.since)
	c.peak = max(c.peak, value)
	for c.since < m.now {
		i := int(c.since / m.step)
		for len(c.buckets) <= i {
			c.buckets = append(c.buckets, bucket{})
		}
		end := min(m.step*time.Duration(i+1), m.now)
		c.buckets[i].sum.add(value, end-c.since)
		c.buckets[i].peak = max(c.buckets[i].peak, value)
		c.since = end
	}
}

// finish books all counters up to now.
func (m *meter) finish() {
	for _, c := range m.counters {
		m.flush(c)
	}
}

// mean is the mean of a counter since the beginning.
func (m *meter) mean(c *counter) int64 { return c.total.mean(m.now) }

// means is the mean of each step.
func (m *meter) means(c *counter) []int64 {
	out := make([]int64, len(c.buckets))
	for i, b := range c.buckets {
		out[i] = b.sum.mean(min(m.step*time.Duration(i+1), m.now) - m.step*time.Duration(i))
	}
	return out
}

// peaks is the most of each step.
func (c *counter) peaks() []int64 {
	out := make([]int64, len(c.buckets))
	for i, b := range c.buckets {
		out[i] = b.peak
	}
	return out
}
