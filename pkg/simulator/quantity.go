package simulator

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// Unit is the unit in which people read a kind of resource.
type Unit struct {
	Kind string
	Name string // "cores"
	per  int64  // how many of the core's make one
}

// UnitOf is the unit of a kind that goes up to the quantity given.
func UnitOf(kind string, most int64) Unit {
	switch {
	case kind == resources.VCore:
		return Unit{kind, "cores", 1000}
	case resources.InBytes(kind) && most >= 100<<40:
		return Unit{kind, "TiB", 1 << 40}
	case resources.InBytes(kind) && (most == 0 || most >= 1<<30):
		return Unit{kind, "GiB", 1 << 30}
	case resources.InBytes(kind):
		return Unit{kind, "MiB", 1 << 20}
	case kind == gpuKind:
		return Unit{kind, "devices", deviceMilli}
	case strings.HasSuffix(kind, "/gpu"):
		return Unit{kind, "devices", 1}
	case kind == "pods":
		return Unit{kind, "pods", 1}
	default:
		return Unit{kind, "units", 1}
	}
}

// Value is a quantity in the unit.
func (u Unit) Value(quantity int64) float64 { return float64(quantity) / float64(u.per) }

// Format writes a quantity in the unit, without its name: "1,234.5".
func (u Unit) Format(quantity int64) string {
	if u.per == 1 || quantity == 0 {
		return Thousands(quantity)
	}
	// Tenths, rounded to the nearest; the remainder of a large unit times ten
	// still fits.
	tenths := quantity/u.per*10 + (quantity%u.per*10+u.per/2)/u.per
	if tenths == 0 {
		return "<0.1"
	}
	if tenths%10 == 0 || tenths >= 10_000 {
		return Thousands((tenths + 5) / 10)
	}
	return Thousands(tenths/10) + "." + strconv.FormatInt(tenths%10, 10)
}

// Readable writes a text of the core as people read it.
func Readable(text string) string { return wording.Readable(text) }

// Thousands writes a whole number with commas.
func Thousands(v int64) string {
	digits := strconv.FormatInt(v, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// Percent writes thousandths as a percentage.
func Percent(perMille int64) string {
	return fmt.Sprintf("%d.%d%%", perMille/10, perMille%10)
}

// Clock writes a length of time with two units at most: 850ms, 12.5s, 3m20s,
// 2h05m, 4d3h.
func Clock(d time.Duration) string {
	switch {
	case d == 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		tenths := (d + 50*time.Millisecond) / (100 * time.Millisecond)
		return strings.TrimSuffix(fmt.Sprintf("%d.%d", tenths/10, tenths%10), ".0") + "s"
	}
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 3600:
		return strings.TrimSuffix(fmt.Sprintf("%dm%02ds", s/60, s%60), "00s")
	case s < 48*3600:
		return strings.TrimSuffix(fmt.Sprintf("%dh%02dm", s/3600, s%3600/60), "00m")
	default:
		return strings.TrimSuffix(fmt.Sprintf("%dd%dh", s/86400, s%86400/3600), "0h")
	}
}
