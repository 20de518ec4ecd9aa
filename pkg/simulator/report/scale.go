package report

import "time"

// roundSteps are the times between two ticks that people find round.
var roundSteps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	day, 2 * day, 5 * day, 10 * day, 20 * day, 30 * day, 60 * day, 90 * day, 180 * day, 360 * day, 720 * day,
}

const day = 24 * time.Hour

// timeStep is the shortest round time that makes at most so many steps.
func timeStep(end time.Duration, most int) time.Duration {
	for _, step := range roundSteps {
		if end <= step*time.Duration(most) {
			return step
		}
	}
	return 1440 * day
}
