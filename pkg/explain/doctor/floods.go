package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// floodMin is from how many asks on those of one user or application can be a flood.
const floodMin = 100

// floods finds the user, or else the application, of which more than half of all asks are that wait.
func (e *examination) floods() {
	if e.looked.Asks < floodMin {
		return
	}
	users := map[string][]*api.ApplicationView{}
	for _, app := range e.view.Applications {
		if len(app.Asks) > 0 {
			users[app.User] = append(users[app.User], app)
		}
	}
	for user, apps := range users { // at most one has more than half
		largest := slices.MaxFunc(apps, func(a, b *api.ApplicationView) int {
			return cmp.Or(cmp.Compare(len(a.Asks), len(b.Asks)), cmp.Compare(b.ID, a.ID))
		})
		subject := fmt.Sprintf("user %s", user)
		if user == "" {
			subject, apps = fmt.Sprintf("application %s", largest.ID), []*api.ApplicationView{largest}
		}
		if n := asksIn(apps); n >= floodMin && 2*n > e.looked.Asks {
			e.flood(subject, apps, largest, n)
		}
	}
}

func asksIn(apps []*api.ApplicationView) (n int) {
	for _, app := range apps {
		n += len(app.Asks)
	}
	return n
}

// flood adds the finding about the applications of a flood. It harms the others that wait.
func (e *examination) flood(subject string, apps []*api.ApplicationView, largest *api.ApplicationView, n int) {
	f := Finding{Kind: Flood, Severity: Wrong, Subject: subject, Queue: largest.Queue, User: largest.User, Application: largest.ID, of: n}
	f.Cause = fmt.Sprintf("%d of %d asks that wait are of it, in %s, the most in %s in queue %s",
		n, e.looked.Asks, wording.Several(len(apps), "application"), largest.ID, largest.Queue)
	var commands []api.Command
	for _, app := range apps {
		for i := range app.Asks {
			ask := &app.Asks[i]
			if f.Since.IsZero() || ask.Created.Before(f.Since) {
				f.Since, f.SinceOf = ask.Created, "its oldest ask"
			}
			commands = append(commands, api.ReleaseAllocation{Application: app.ID, Key: ask.Key})
		}
	}
	f.Asks = e.looked.Asks - n
	if f.Asks == 0 {
		f.Severity, f.Remedy = Note, "none was tried: nothing else waits"
		e.add(f)
		return
	}
	e.tryWithout(&f, commands)
	e.add(f)
}

// tryWithout tries which others run without the asks of a flood: how bad it is depends on that.
func (e *examination) tryWithout(f *Finding, commands []api.Command) {
	others := f.Asks
	run, ok := e.wouldRun(commands...)
	if !ok {
		f.Remedy, e.partial = notTried, true
		return
	}
	if f.Tried, f.Asks = true, len(run); len(run) > 0 {
		f.Remedy = fmt.Sprintf("without its asks %d of the %d others would run at once", len(run), others)
		f.Detail = "a limit for it in its queue, or a max of the queue, keeps later ones back"
		return
	}
	f.Severity = Note
	f.Remedy = fmt.Sprintf("without its asks none of the %d others would run at once: what they wait for is something else", others)
}
