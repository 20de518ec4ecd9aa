package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tags with which an allocation says that it belongs to a group: the name, and how many
// members run at least. A resource manager sends them for groups of asks that start together
// and need no placeholders, as the pod groups of Kubernetes.
const (
	TagQuorum      = "quorum.name"
	TagQuorumLeast = "quorum.least"
)

// Tags with which members say more about their group. What the group has is what was said last by any of them; one that does
// not say it has said nothing, and an empty value, or one that is not understood, says that the group has none.
const (
	// TagQuorumPriority is the priority of all members, whatever their own is: for their order, for what is kept for them
	// and as victims. Their own orders them among themselves.
	TagQuorumPriority = "quorum.priority"
	// TagQuorumPreempts says, with "true" or "false", whether others may be evicted for members, whatever they say themselves.
	TagQuorumPreempts = "quorum.preempts"
	// TagQuorumUnit is what ends together: UnitAll, or nothing for each member by itself.
	TagQuorumUnit = "quorum.unit"
	// TagQuorumIndex is which of the members it is, of those that are numbered: one that is done counts no more once another
	// of its index is there.
	TagQuorumIndex = "quorum.index"
	// TagQuorumDone says, with "true", that a member had succeeded before it was told of: it counts in its group until it is
	// released, as after a release with the message Succeeded, and is booked nowhere.
	TagQuorumDone = "quorum.done"
	// TagQuorumRequire is the attribute of nodes of which all members run in one value.
	TagQuorumRequire = "quorum.require"
	// TagQuorumPrefer is the attribute of nodes of which members that start together run in as few values as possible.
	TagQuorumPrefer = "quorum.prefer"
	// TagQuorumBalanced says, with "true", that members that start in several domains, as few as can be, are as evenly divided among them as
	// can be.
	TagQuorumBalanced = "quorum.balanced"
	// TagQuorumSubgroup is which subgroup of its group a member is in, by name. A subgroup may have parts, and these too: "replica-1/workers".
	TagQuorumSubgroup = "quorum.subgroup"
	// TagQuorumEach is the attribute of nodes of which the members of its subgroup run in one value: all of a subgroup that wait start there, or none of them
	// does. After a comma it says that of the part that the member is in, and so on: "block,rack", or ",rack" of the part alone.
	TagQuorumEach = "quorum.each"
	// TagQuorumSplit says, with "true", that a subgroup for which no domain of these has room starts in several of them, as few as can be.
	TagQuorumSplit = "quorum.each.split"
	// TagQuorumSubgroupLeast is how many members of its subgroup start together or none does. Where it is above zero, TagQuorumLeast counts
	// subgroups that have theirs, instead of members: so many of them start together. The others may start later, each as a whole, and
	// nothing is evicted for them. For a part it says that of each that it is in, too: with "2/4", two parts of the subgroup start together, and of this
	// one four members.
	TagQuorumSubgroupLeast = "quorum.subgroup.least"
	// TagQuorumEndBelow is after how many seconds what runs of a group ends that has started and is below its minimum since, so that it may start
	// anew as a whole. Without it, it runs on.
	TagQuorumEndBelow = "quorum.endbelow"
)

// UnitAll says that the members of a group are evicted together or not at all.
const UnitAll = "all"

// GroupState is what a group does.
type GroupState uint8

// The states of a group: it has not started; it has, and nothing is missing; it has started, and fewer members run or are
// done than must.
const (
	GroupWaits GroupState = iota
	GroupRuns
	GroupIsBelow
)

func (s GroupState) String() string {
	return [...]string{"waits", "runs", "is below its minimum"}[s]
}

// QuorumOf begins the name in a view of a group whose members name it; the rest is how they do.
const QuorumOf = "quorum "

// GroupTerms are what was said of a group last. The zero value is what a group has of which only the name is known.
type GroupTerms struct {
	Least    int // members that run, or are done, or subgroups of which enough do; of a gang its placeholders say it
	Priority GroupPriority
	Preempts GroupPreempts
	Unit     string // UnitAll or empty
	Require  string // an attribute of nodes; empty for none
	Prefer   string // an attribute of nodes; empty for none

	BySubgroup bool          // Least counts subgroups
	Balanced   bool          // members are evenly divided among domains
	Split      bool          // a subgroup for which no domain has room that it requires may be divided among several
	EndBelow   time.Duration // what runs ends when it has been below its minimum for so long; zero is never
}

// DomainKeys are the attributes of nodes of which the values are a domain of another one within one of some, where some lists are levels: these, what stands above
// that one in its list, and itself. One that is among them divides nothing.
func DomainKeys(lists [][]string, within []string, key string) []string {
	keys := []string{key}
	for _, list := range lists {
		if i := slices.Index(list, key); i >= 0 {
			keys = list[:i+1]
		}
	}
	within = slices.Clip(within)
	for _, key := range keys {
		if !slices.Contains(within, key) {
			within = append(within, key)
		}
	}
	return within
}

// A GroupPriority is the priority of a group that has one.
type GroupPriority struct {
	Stated bool
	Of     int32
}

// GroupPreempts says whether others may be evicted for the members of a group.
type GroupPreempts uint8

// What groups say about evictions: nothing, so that each member says it; that they may evict; that they never do.
const (
	MembersSay GroupPreempts = iota
	MayPreempt
	NeverPreempts
)

// Heard is the terms after a member has said some tags.
func (t GroupTerms) Heard(tags map[string]string) GroupTerms {
	if least, err := strconv.Atoi(tags[TagQuorumLeast]); err == nil {
		t.Least = least
	}
	if said, is := tags[TagQuorumPriority]; is {
		of, err := strconv.ParseInt(said, 10, 32)
		if t.Priority = (GroupPriority{Stated: err == nil, Of: int32(of)}); err != nil {
			t.Priority = GroupPriority{}
		}
	}
	if said, is := tags[TagQuorumPreempts]; is {
		t.Preempts = map[string]GroupPreempts{"true": MayPreempt, "false": NeverPreempts}[said]
	}
	if said, is := tags[TagQuorumUnit]; is {
		if t.Unit = said; said != UnitAll {
			t.Unit = ""
		}
	}
	if said, is := tags[TagQuorumRequire]; is {
		t.Require = said
	}
	if said, is := tags[TagQuorumPrefer]; is {
		t.Prefer = said
	}
	if said, is := tags[TagQuorumBalanced]; is {
		t.Balanced = said == "true"
	}
	if said, is := tags[TagQuorumSplit]; is {
		t.Split = said == "true"
	}
	if said, is := tags[TagQuorumSubgroupLeast]; is {
		said, _, _ = strings.Cut(said, "/")
		least, err := strconv.Atoi(said)
		t.BySubgroup = err == nil && least > 0
	}
	if said, is := tags[TagQuorumEndBelow]; is {
		seconds, err := strconv.ParseInt(said, 10, 32)
		if t.EndBelow = time.Duration(max(seconds, 0)) * time.Second; err != nil {
			t.EndBelow = 0
		}
	}
	return t
}

// In is an allocation as a member of a group: with the priority of that, if it has one, or else with its own.
func (a *Allocation) In(t GroupTerms) *Allocation {
	switch {
	case t.Priority.Stated && (a.OwnPriority == nil || a.Priority != t.Priority.Of):
		own, member := a.Within(), *a
		member.Priority, member.OwnPriority = t.Priority.Of, &own
		return &member
	case !t.Priority.Stated && a.OwnPriority != nil:
		member := *a
		member.Priority, member.OwnPriority = *a.OwnPriority, nil
		return &member
	}
	return a
}

// Within is the priority of an allocation among the members of its group: its own.
func (a *Allocation) Within() int32 {
	if a.OwnPriority != nil {
		return *a.OwnPriority
	}
	return a.Priority
}

// GroupChanged says what a group does from now on whose members name it: it waits, for another reason than before; it runs, for the first time
// or again; it is below its minimum.
type GroupChanged struct {
	Name        string        // as the members name it
	Application ApplicationID // of a member
	State       GroupState
	Running     int       // members that run
	Done        int       // members that have succeeded and count
	Least       int       // members, or subgroups, that must run or be done
	BySubgroup  bool      // Least counts subgroups
	Subgroups   []string  // the names of those of which enough members or parts run or are done, where it does, and of such parts
	Since       time.Time // it was below its minimum, until now if it runs; zero if it was not
	Detail      string    // why it waits, for people
}

// Text says what a group does, for people.
func (e *GroupChanged) Text() string {
	run, of := e.Running, "members"
	if e.BySubgroup {
		run, of = 0, "subgroups"
		for _, name := range e.Subgroups {
			if !strings.Contains(name, "/") {
				run++
			}
		}
	}
	text := fmt.Sprintf("group %s %s: %d of %d %s run", e.Name, e.State, run, e.Least, of)
	if e.Done > 0 {
		text += fmt.Sprintf(", %d are done", e.Done)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}
