package config

import (
	"slices"
	"strings"
)

// How many lists of levels there are at most, and how many levels in each. A change of a node costs a step for each level.
const (
	levelListsMax = 8
	levelsMax     = 8
)

// topology reads the levels of a partition: lists of attributes of nodes, coarse to fine.
func topology(c cursor) (lists [][]string) {
	c.fields(field{"levels", func(c cursor) {
		items := c.items()
		if len(items) > levelListsMax {
			c.fail("more than %d lists of levels", levelListsMax)
			return
		}
		for _, item := range items {
			if item.IsScalar() {
				item.fail("a level by itself; write a list of lists, for example [[%s]]", item.text())
				return
			}
			if keys := levels(item, lists); len(keys) > 0 {
				lists = append(lists, keys)
			}
		}
	}})
	return lists
}

// levels reads one list, after others.
func levels(c cursor, others [][]string) (keys []string) {
	items := c.items()
	if len(items) > levelsMax {
		c.fail("more than %d levels", levelsMax)
		return nil
	}
	for _, item := range items {
		key := item.text()
		twice := slices.Contains(keys, key) || slices.ContainsFunc(others, func(list []string) bool { return slices.Contains(list, key) })
		switch {
		case key == "":
			item.fail("a level without a name; write an attribute of nodes, such as topology.kubernetes.io/rack")
		case twice:
			item.fail("%s is a level already; an attribute has one place", quote(key))
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// levelsText is lists of levels, to compare and to show.
func levelsText(lists [][]string) string {
	texts := make([]string, len(lists))
	for i, keys := range lists {
		texts[i] = strings.Join(keys, " > ")
	}
	return strings.Join(texts, ", ")
}
