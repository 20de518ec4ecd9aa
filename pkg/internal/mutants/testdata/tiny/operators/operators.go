// Package operators has each kind of fault, and what is left out.
package operators

import (
	"errors"
	"fmt"
	"log"
	"slices"
)

var limit = 3

// boundaries, conditions and logic.
func compare(a, b int, c bool) bool {
	if a < b || a >= b && !c {
		return a == b
	}
	if c {
		return true
	}
	if !c {
		return a != b
	}
	return false
}

// numbers, but not the concatenation of texts.
func calculate(a, b int, text string) (int, string) {
	a += b * 2
	b++ // a comment is no part of a fault
	return min(a<<1, b), text + "!"
}

// statements and jumps.
func jump(list []int) (sum int) {
	defer func() { sum-- }()
	for _, n := range list {
		switch {
		case n > 5:
			continue
		case n > 4:
			break
		}
		clear(list)
		sum = n
	}
	return sum
}

// copies are as good as what they are made of, as long as it does not change.
func copies(list []int, t *tree) ([]int, *tree) {
	return slices.Clone(list), t.Clone()
}

type tree struct{ left *tree }

func (t *tree) Clone() *tree { return &tree{left: t.left} }

// two has the same line twice.
func two(list []int) {
	if len(list) > 0 {
		list[0]++
	}
	if len(list) > 0 {
		list[0]++
	}
}

// nothing has no fault that counts.
func nothing(list []int) ([]int, error) {
	list = slices.Grow(list, 4)
	all := slices.Concat(make([]int, 0, 8), slices.Grow(list, len(list)+1))
	log.Printf("%d", 1)
	if l := log.Default(); len(l.Prefix()) > 3 {
		l.Println("more", 4)
	}
	if len(all) > 7 {
		panic(fmt.Sprint("broken", 7))
	}
	m := make(map[int]int, 9)
	m[len(all)] = 0x9e3779b97f4a7c1
	return all, errors.Join(fmt.Errorf("%d", 1+2), errors.New("x"))
}

// String is for people.
func (t *tree) String() string {
	if t.left == nil {
		return "leaf"
	}
	return "tree"
}
