package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// A Group is how the pods of an application start together, without placeholders.
type Group struct {
	Least    int    // pods that run, or are done; zero is all that the application has
	Require  string // the level of a domain in which all run; empty for anywhere
	Prefer   string // the level of which they run in as few domains as they can; empty for none
	Each     string // the level of a domain in which all of a subgroup run, after a comma that of each part of it; empty for anywhere
	Split    bool   // a subgroup may be divided where no domain has room for it
	Size     int    // pods of a subgroup, those that follow each other; zero is all that the application has
	Parts    int    // subgroups that start together, each with all its pods; zero where pods are counted
	Leaders  int    // pods of each of these that are a part of it, the first ones, beside the others; zero where there are no such parts
	Balanced bool   // they are evenly divided among domains
	Whole    bool   // they are evicted together
	Priority *int32 // of all of them; nil is that of the workload
}

// group reads how the pods of an application start together.
func (p *parser) group(into **Group) field {
	return func(v yamltree.Value) {
		g := Group{}
		p.mapping(v, map[string]field{
			"least":    whole(&p.reader, &g.Least, 1, podsMax),
			"require":  text(&p.reader, &g.Require),
			"prefer":   text(&p.reader, &g.Prefer),
			"each":     text(&p.reader, &g.Each),
			"split":    p.flag(&g.Split),
			"size":     whole(&p.reader, &g.Size, 1, podsMax),
			"parts":    whole(&p.reader, &g.Parts, 1, podsMax),
			"leaders":  whole(&p.reader, &g.Leaders, 1, podsMax),
			"balanced": p.flag(&g.Balanced),
			"unit":     scalar(&p.reader, &g.Whole, parseUnit),
			"priority": p.priority(&g.Priority),
		})
		*into = &g
	}
}

func (p *parser) priority(into **int32) field {
	return func(v yamltree.Value) {
		var is int32
		whole(&p.reader, &is, math.MinInt32, math.MaxInt32)(v)
		*into = &is
	}
}

func parseUnit(text string) (isWhole bool, err error) {
	if text != api.UnitAll {
		return false, fmt.Errorf("%q is not %s, which ends all pods together", text, api.UnitAll)
	}
	return true, nil
}

// groupPods has the pods of an application say of which group they are.
func (s *source) groupPods(id api.ApplicationID, pods []*pod) {
	least := s.Group.Least
	if least == 0 {
		least = len(pods)
	}
	tags := map[string]string{api.TagQuorum: string(id), api.TagQuorumLeast: strconv.Itoa(least)}
	if s.Group.Require != "" {
		tags[api.TagQuorumRequire] = s.Group.Require
	}
	if s.Group.Prefer != "" {
		tags[api.TagQuorumPrefer] = s.Group.Prefer
	}
	if s.Group.Each != "" {
		tags[api.TagQuorumEach] = s.Group.Each
	}
	if s.Group.Split {
		tags[api.TagQuorumSplit] = "true"
	}
	if s.Group.Balanced {
		tags[api.TagQuorumBalanced] = "true"
	}
	if s.Group.Whole {
		tags[api.TagQuorumUnit] = api.UnitAll
	}
	if s.Group.Priority != nil {
		tags[api.TagQuorumPriority] = strconv.Itoa(int(*s.Group.Priority))
	}
	size := cmp.Or(s.Group.Size, len(pods))
	if s.Group.Parts > 0 {
		tags[api.TagQuorumLeast] = strconv.Itoa(s.Group.Parts)
	}
	for i, p := range pods {
		spec := *p.podSpec
		spec.tags = maps.Clone(spec.tags)
		if spec.tags == nil {
			spec.tags = map[string]string{}
		}
		maps.Copy(spec.tags, tags)
		spec.tags[api.TagQuorumIndex] = strconv.Itoa(i)
		if s.Group.Each != "" || s.Group.Parts > 0 {
			spec.tags[api.TagQuorumSubgroup] = strconv.Itoa(i / size)
		}
		if s.Group.Parts > 0 {
			s.Group.ofSubgroup(spec.tags, i%size, min(size, len(pods)-i/size*size))
		}
		p.podSpec = &spec
	}
}

// ofSubgroup has a pod say how many of its subgroup start together, of which it is one.
func (g *Group) ofSubgroup(tags map[string]string, at, count int) {
	leaders := min(g.Leaders, count)
	switch others := count - leaders; {
	case leaders == 0 || others == 0:
		tags[api.TagQuorumSubgroupLeast] = strconv.Itoa(count)
	case at < leaders:
		tags[api.TagQuorumSubgroup] += "/leaders"
		tags[api.TagQuorumSubgroupLeast] = fmt.Sprintf("2/%d", leaders)
	default:
		tags[api.TagQuorumSubgroup] += "/others"
		tags[api.TagQuorumSubgroupLeast] = fmt.Sprintf("2/%d", others)
	}
}
