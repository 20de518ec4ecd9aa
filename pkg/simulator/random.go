package simulator

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// tick is the resolution of virtual time. Everything drawn is rounded to it, so
// that the last bit of a float never decides an order.
const tick = time.Millisecond

// spanMax is the longest time a scenario may speak of. It keeps sums of times
// far from overflowing.
const spanMax = 10 * 365 * 24 * time.Hour

// stream is a random generator of its own for one concern, so that adding a workload
// does not change what another one draws.
func stream(seed uint64, concern string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(concern)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// spread is the law that a Span is drawn by.
type spread uint8

const (
	fixed spread = iota
	uniform
	exponential
	forever
)

// A Span is a length of time that may be random. The zero value is no
// time at all. As text it is one of
//
//	90s               always the same
//	1m..5m            uniform, both ends included
//	exponential 10m   exponential with this mean
//	forever           does not end
type Span struct {
	law  spread
	from time.Duration // the value or the mean too
	to   time.Duration
}

// Forever is a span that does not end.
var Forever = Span{law: forever}

// Between is a uniform span; equal ends make a fixed one.
func Between(from, to time.Duration) Span {
	if from == to {
		return Span{from: from}
	}
	return Span{law: uniform, from: from, to: to}
}

// Exponential is a span with an exponential law.
func Exponential(mean time.Duration) Span { return Span{law: exponential, from: mean} }

// ParseSpan reads the text of a span.
func ParseSpan(text string) (Span, error) {
	text = strings.TrimSpace(text)
	if text == "forever" {
		return Forever, nil
	}
	if mean, ok := strings.CutPrefix(text, "exponential "); ok {
		d, err := parseTime(mean)
		return Exponential(d), err
	}
	if from, to, ok := strings.Cut(text, ".."); ok {
		a, err := parseTime(from)
		if err != nil {
			return Span{}, err
		}
		b, err := parseTime(to)
		if err == nil && b < a {
			err = fmt.Errorf("%q ends before it begins", text)
		}
		return Between(a, b), err
	}
	d, err := parseTime(text)
	return Span{from: d}, err
}

// parseTime reads a length of time such as 90s or 1h30m.
func parseTime(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a time; write 500ms, 90s, 5m or 1h30m", text)
	case d < 0:
		return 0, fmt.Errorf("%q is negative", text)
	case d > spanMax:
		return 0, fmt.Errorf("%q is longer than ten years", text)
	}
	return d.Round(tick), nil
}

// draw is one length of time, or false when it does not end.
func (s Span) draw(random *rand.Rand) (time.Duration, bool) {
	switch s.law {
	case uniform:
		return s.from + time.Duration(random.Int64N(int64((s.to-s.from)/tick)+1))*tick, true
	case exponential:
		d := time.Duration(random.ExpFloat64() * float64(s.from)).Round(tick)
		return min(d, spanMax), true
	case forever:
		return 0, false
	default:
		return s.from, true
	}
}

// A Count is a whole number that may be random: "8", or "2..16".
type Count struct{ From, To int }

// parseCount reads the text of a count; both ends are at least one.
func parseCount(text string, most int) (Count, error) {
	from, to, ranged := strings.Cut(strings.TrimSpace(text), "..")
	if !ranged {
		to = from
	}
	a, err1 := strconv.Atoi(strings.TrimSpace(from))
	b, err2 := strconv.Atoi(strings.TrimSpace(to))
	switch {
	case err1 != nil || err2 != nil:
		return Count{}, fmt.Errorf("%q is not a count; write 8 or 2..16", text)
	case a < 1 || b < a:
		return Count{}, fmt.Errorf("%q must be at least one, and not end before it begins", text)
	case b > most:
		return Count{}, fmt.Errorf("%q is more than %d", text, most)
	}
	return Count{From: a, To: b}, nil
}

func (c Count) draw(random *rand.Rand) int {
	if c.To <= c.From {
		return c.From
	}
	return c.From + random.IntN(c.To-c.From+1)
}

// A Probability is in thousandths.
type Probability int

// parseProbability reads a percentage such as 5% or 0.5%.
func parseProbability(text string) (Probability, error) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	if !ok {
		return 0, fmt.Errorf("%q is not a percentage; write 5%% or 0.5%%", text)
	}
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a percentage; write 5%% or 0.5%%", text)
	case !(percent >= 0 && percent <= 100): // not a number is not between either
		return 0, fmt.Errorf("%q is not between 0%% and 100%%", text)
	}
	return Probability(percent*10 + 0.5), nil
}

// happens draws whether it does. It always takes one number from the stream,
// so that raising one probability does not change what the others draw.
func (c Probability) happens(random *rand.Rand) bool {
	return random.IntN(1000) < int(c)
}

// parseRate reads how often something happens, such as 12/h, as the mean time
// between two of them.
func parseRate(text string) (time.Duration, error) {
	number, unit, ok := strings.Cut(strings.TrimSpace(text), "/")
	count, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	per, known := units[strings.TrimSpace(unit)]
	if !ok || err != nil || !known {
		return 0, fmt.Errorf("%q is not a rate; write 30/m, 12/h or 2/d", text)
	}
	if !(count > 0 && count <= 1e6) {
		return 0, fmt.Errorf("%q is not between 0 and 1000000", text)
	}
	mean := float64(per) / count
	if mean > float64(spanMax) {
		return 0, errors.New("a rate below one in ten years")
	}
	return time.Duration(mean), nil
}
