package core

import "time"

// reportDelay is how long a failed plan is not reported again, whatever its reason.
const reportDelay = 15 * time.Second

// reportOnce tells why no room is made, once for each reason and not too often.
func (l *ledger) reportOnce(r *request, message string) {
	w := r.wait
	if message == w.reported || (w.reported != "" && w.reportedAt.Add(reportDelay).After(l.now)) {
		return
	}
	w.reported, w.reportedAt = message, l.now
	l.tell(&AskReport{r.Allocation, message})
}
