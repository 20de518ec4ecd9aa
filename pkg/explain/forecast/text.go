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
	line += fmt.Sprintf(", by %s from how long others ran, if nothing else comes first", wording.Several(f.Plays, "play"))
	if f.Unknown > 0 {
		line += fmt.Sprintf("; how long %d of %d that run will is not known", f.Unknown, f.Running)
	}
	return append(lines, line)
}

// Bounds are the least and the most, rounded outward to what is worth telling.
func (f *Forecast) Bounds() (least, most time.Duration) {
	step := time.Minute
	switch {
	case f.Most > 10*time.Hour:
		step = time.Hour
	case f.Most > 2*time.Hour:
		step = 30 * time.Minute
	case f.Most > 30*time.Minute:
		step = 5 * time.Minute
	}
	return f.Least.Truncate(step), (f.Most + step).Truncate(step)
}
