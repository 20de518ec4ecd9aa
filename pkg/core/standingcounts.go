package core

import (
	"cmp"
	"slices"
	"strings"
)

// standingCounts counts how many asks there are of each standing, the lowest first as the
// root sees them. There are few standings.
type standingCounts []standingCount

type standingCount struct {
	Standing
	count int
}

// count counts asks of a standing in, or out.
func (c *standingCounts) count(standing Standing, by int) {
	at, known := slices.BinarySearchFunc(*c, standing, func(a standingCount, s Standing) int {
		return cmp.Or(cmp.Compare(a.Root, s.Root), strings.Compare(a.fences, s.fences))
	})
	if !known {
		*c = slices.Insert(*c, at, standingCount{Standing: standing})
	}
	if (*c)[at].count += by; (*c)[at].count == 0 {
		*c = slices.Delete(*c, at, at+1)
	}
}

// highest is the standing to which just those asks are not above that are not above one of
// those counted.
func (c standingCounts) highest() Standing {
	highest := noStanding
	for i := len(c) - 1; i >= 0 && c[i].Root >= highest.Root; i-- {
		if highest = highest.join(c[i].Standing); highest.fences == "" {
			break // nothing changes it any more
		}
	}
	return highest
}
