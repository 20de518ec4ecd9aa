package metrics

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
)

// ownersMax is the most users of a partition that have series of their own, and the most groups of
// users: those of which most waits or came lately. The others are one together.
const ownersMax = 50

// others is the name of those that are one together. One that is called so is among them.
const others = "*"

// Arrivals are implemented by views that know which asks came lately.
type Arrivals interface {
	Arrivals(partition string) []archive.Arrivals
}

// waits are what waits of a user or group.
type waits struct {
	name    string
	pending int
	oldest  time.Time // of those that wait
	arrived int
}

func (w *waits) add(other waits) {
	w.pending += other.pending
	w.arrived += other.arrived
	if !other.oldest.IsZero() && (w.oldest.IsZero() || other.oldest.Before(w.oldest)) {
		w.oldest = other.oldest
	}
}

// owners are what waits by the name of a user or group.
type owners map[string]*waits

func (o owners) add(name string, one waits) {
	if o[name] == nil {
		o[name] = &waits{name: name}
	}
	o[name].add(one)
}

// most are those of which most waits or came, the most first, and the others as one.
func (o owners) most() []*waits {
	rest := o[others]
	delete(o, others)
	list := make([]*waits, 0, len(o))
	for _, one := range o {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b *waits) int {
		return cmp.Or(cmp.Compare(b.pending+b.arrived, a.pending+a.arrived), strings.Compare(a.name, b.name))
	})
	if len(list) > ownersMax {
		if rest == nil {
			rest = &waits{name: others}
		}
		for _, one := range list[ownersMax:] {
			rest.add(*one)
		}
		list = list[:ownersMax]
	}
	if rest != nil {
		list = append(list, rest)
	}
	return list
}

// owners goes over applications and arrivals, and makes the series of users and of their groups. An
// ask counts for every group of its user.
func (r *reading) owners(arrived []archive.Arrivals) {
	users, groups := owners{}, owners{}
	add := func(user string, of []string, one waits) {
		users.add(user, one)
		for _, group := range of {
			groups.add(group, one)
		}
	}
	for _, app := range r.view.Applications {
		var one waits
		for i := range app.Asks {
			one.add(waits{pending: 1, oldest: app.Asks[i].Created})
		}
		if one.pending > 0 {
			add(app.User, app.Groups, one)
		}
	}
	for _, a := range arrived {
		add(a.User, a.Groups, waits{arrived: a.Asks})
	}
	for _, one := range users.most() {
		name := label("user", one.name)
		r.page.add(userPending, float64(one.pending), r.partition, name)
		r.page.add(userOldest, secondsOf(one.oldest), r.partition, name)
		r.page.add(userArrived, float64(one.arrived), r.partition, name)
	}
	for _, one := range groups.most() {
		name := label("group", one.name)
		r.page.add(groupPending, float64(one.pending), name, r.partition)
		r.page.add(groupOldest, secondsOf(one.oldest), name, r.partition)
		r.page.add(groupArrived, float64(one.arrived), name, r.partition)
	}
}

// secondsOf is a time in seconds since 1970; zero if there is none.
func secondsOf(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.Unix())
}
