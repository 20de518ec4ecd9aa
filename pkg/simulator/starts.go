package simulator

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// starts know which groups have started: the first members of one are placed together, as many as must.
type starts map[string]bool

// check notes the groups of which the first members were placed in one step, and returns those of which too few were.
func (s starts) check(effects api.Effects) (broken []string) {
	placed := map[string][]*api.Allocation{}
	for _, event := range effects {
		switch e := event.(type) {
		case api.Placed:
			if name := e.Allocation.Tags[api.TagQuorum]; name != "" && !s[name] {
				placed[name] = append(placed[name], e.Allocation)
			}
		case api.Adopted:
			s[e.Allocation.Tags[api.TagQuorum]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(placed)) {
		if s[name] = true; !startWhole(placed[name]) {
			broken = append(broken, name)
		}
	}
	return broken
}

// startWhole reports whether members are as many as their group says: so many, or so many of its subgroups, each with so many of its parts
// or of its own.
func startWhole(members []*api.Allocation) bool {
	least, _ := strconv.Atoi(members[0].Tags[api.TagQuorumLeast])
	if members[0].Tags[api.TagQuorumSubgroupLeast] == "" {
		return len(members) >= least
	}
	count, wants, parts := map[string]int{}, map[string]int{}, map[string]int{} // of members and parts that run, and how many of each must
	for _, m := range members {
		name, says := m.Tags[api.TagQuorumSubgroup], m.Tags[api.TagQuorumSubgroupLeast]
		outer, inner, _ := strings.Cut(says, "/")
		if inner == "" {
			inner, outer = outer, "1"
		}
		wants[name], _ = strconv.Atoi(inner)
		top, _, _ := strings.Cut(name, "/")
		parts[top], _ = strconv.Atoi(outer)
		count[name]++
	}
	for name, n := range count {
		if top, _, _ := strings.Cut(name, "/"); n >= wants[name] {
			parts[top]--
		}
	}
	for _, lacks := range parts {
		if lacks <= 0 {
			least--
		}
	}
	return least <= 0
}
