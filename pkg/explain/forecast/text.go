package forecast

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// Lines are the forecast for people to read.
func (f *Forecast) Lines() (lines []string) {
	if l := f.Line; l != nil {
		lines = append(lines, fmt.Sprintf("place %d of %d that wait, and %d of %d in its queue, if there was room for all", l.Place, l.Of, l.PlaceInQueue, l.OfQueue))
	}
	if f.No != "" {
		return append(lines, "no estimate: "+f.No)
	}
	least, most := f.Bounds()
	line := fmt.Sprintf("in %s to %s", wording.Age(least), wording.Age(most))
	if least == 0 {
		line = "within " + wording.Age(most)
	}
	line += fmt.Sprintf(", by %s from how long others ran and what came lately", wording.Several(f.Plays, "play"))
	if f.Cut > 0 {
		line += fmt.Sprintf(", of which the last %d asks count, and %d before them do not", cameMax, f.Cut)
	}
	if f.Unknown > 0 {
		line += fmt.Sprintf("; how long %d of %d that run will is not known", f.Unknown, f.Running)
	}
	lines = append(lines, line)
	if f.Wrong > 0 {
		lines = append(lines, wording.Several(f.Wrong, "estimate")+" before this one did not hold, so this one is wider")
	}
	return lines
}

// Bounds are the least and the most, rounded outward to what is worth telling, and shown.
func (f *Forecast) Bounds() (least, most time.Duration) {
	step := stepOf(f.Most)
	return f.Least.Truncate(stepOf(f.Least)), (f.Most + step - 1).Truncate(step)
}

// stepOf is how exactly a time is told.
func stepOf(d time.Duration) time.Duration {
	switch {
	case d < 2*time.Minute:
		return time.Second
	case d < 30*time.Minute:
		return time.Minute
	case d < 2*time.Hour:
		return 5 * time.Minute
	default:
		return time.Hour
	}
}
