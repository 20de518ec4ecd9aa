package core

import "strconv"

// Tags with which an allocation says that it belongs to a quorum: the name, and how many
// members run at least. A resource manager sends them for groups of asks that start together
// and need no placeholders, as the pod groups of Kubernetes.
const (
	TagQuorum      = "quorum.name"
	TagQuorumLeast = "quorum.least"
)

// A quorum is the asks and allocations of which none starts before so many of them run or can
// be placed at once. They may be of several applications.
//
//	running = the members that run
//	done    = the members that have run and succeeded, as long as there are others
//	asks    = the members that wait
//	holds   => running + done < least, and no ask stands in an order but one for which room was kept
//	waits   => holds
type quorum struct {
	name    string
	least   int // as the member said of which was heard last
	members int // requests that point here
	running int
	done    int
	stays   int // of running, those that are not being evicted
	asks    askSet

	holds  bool   // its asks are held back
	waits  bool   // they were tried together and did not fit
	misfit bool   // the quotas have room for them
	hinted bool   // the resource manager was told so
	detail string // why they are held back
	listed bool   // among those that are tried again later
	change bool   // recorded, and not reacted to yet
}

// missing is how many more must run at once; it is not above zero once the quorum runs.
func (q *quorum) missing() int { return q.least - q.running - q.done }

// quorumOf reads the tags of a quorum. An allocation of a task group, or one that may run on
// one node only, takes no part in one: it waits for something else.
func quorumOf(a *Allocation) (name string, least int) {
	if a.TaskGroup != "" || a.Placeholder || a.Required != "" || a.IsForeign() || a.Tags[TagQuorum] == "" {
		return "", 0
	}
	least, err := strconv.Atoi(a.Tags[TagQuorumLeast])
	if err != nil || least <= 0 {
		return "", 0
	}
	return a.Tags[TagQuorum], least
}

// startsTogether reports whether an ask is placed only with others of its quorum.
func startsTogether(r *request) bool {
	return r.quorum != nil && r.quorum.missing() > 0 && !keepsRoom(r)
}

// keepsRoom reports whether room is kept for an ask. What was promised while its quorum ran
// stays with it.
func keepsRoom(r *request) bool {
	return r.claim() != nil || r.wait != nil && r.wait.former != ""
}

// enterQuorum makes a request a member of the quorum that it names, and leaveQuorum ends that.
// It is in no list meanwhile.
func (m members) enterQuorum(r *request) {
	name, least := quorumOf(r.Allocation)
	if name == "" {
		return
	}
	q := m.quorums[name]
	if q == nil {
		q = &quorum{name: name, holds: true, detail: awaitsMembers}
		m.quorums[name] = q
	}
	q.members++
	r.quorum = q
	if q.least != least {
		q.least = least
		m.changes.quorum(q)
	}
}

func (m members) leaveQuorum(r *request) {
	q := r.quorum
	if q == nil {
		return
	}
	r.quorum = nil
	if q.members--; q.members == 0 {
		delete(m.quorums, q.name)
	}
}

// countQuorum counts a member that runs, or one that does not any more.
func (m members) countQuorum(r *request, more int) {
	if q := r.quorum; q != nil {
		q.running += more
		m.changes.quorum(q)
	}
	if r.eviction == nil {
		m.countStaying(r, more)
	}
}

// succeeded counts a member that has done its work.
func (m members) succeeded(r *request) {
	if q := r.quorum; q != nil {
		q.done++
		m.regrouped++
		m.changes.quorum(q)
	}
}

// countStaying counts a member of a group that stays, or one that does not any more.
func (m members) countStaying(r *request, more int) {
	if r.quorum != nil {
		r.quorum.stays += more
		m.regrouped++
	} else if r.groupOf() != nil {
		r.application.gang.stays += more
		m.regrouped++
	}
}

// mustRun is how many members of the group of an allocation stay, and without how many the
// others run in vain: of a quorum, or of a gang that starts whole. It is nothing where there is
// no such group.
func (r *request) mustRun() (group string, stay, least int) {
	if q := r.quorum; q != nil {
		return "quorum " + q.name, q.stays, q.least - q.done
	}
	if r.TaskGroup == "" || r.groupOf() == nil || !r.application.gang.whole {
		return "", 0, 0
	}
	for _, g := range r.application.gang.groups {
		least += int(g.made - g.timedOut)
	}
	return "gang " + string(r.Application), r.application.gang.stays, least
}

// awaitsMembers is why the asks of a quorum wait that is too small.
const awaitsMembers = "fewer members are there than must start together"

// join books an ask of a quorum, and resign takes it off the books. A new one may be what the
// others lacked.
func (q *quorum) join(l *ledger, r *request) {
	q.asks.add(r)
	if q.holds && (r.group == nil || !keepsRoom(r)) { // one for which room is kept stays in its order
		members{l}.holdBack(r, AwaitsGang, q.detail)
	}
	q.waits, q.hinted = false, false
	l.changes.quorum(q)
}

func (q *quorum) resign(l *ledger, r *request) {
	q.asks.remove(r)
	if r.wait != nil {
		r.wait.held = false
	}
	l.changes.quorum(q)
}

// quorum records that what a quorum has or wants has changed.
func (c *changeSet) quorum(q *quorum) {
	if !q.change {
		q.change = true
		c.quorums = append(c.quorums, q)
	}
}
