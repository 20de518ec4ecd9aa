package core_test

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// strangerCatch is the broken law that do finds, or nothing.
func strangerCatch(do func()) (fault string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case strangerFault:
			fault = r.text
		default:
			fault = fmt.Sprint("panic: ", r)
			if os.Getenv("STRANGER_PANIC") != "" {
				panic(r)
			}
		}
	}()
	do()
	return ""
}

// strangerPlay plays ops in a new world.
func strangerPlay(f strangerFeatures, ops []strangerOp) string {
	return strangerCatch(func() {
		w := newStrangerWorld(f)
		for _, o := range ops {
			w.do(o)
		}
	})
}

// strangerReduce leaves out what a fault of this kind does not need.
func strangerReduce(f strangerFeatures, ops []strangerOp, fault string) []strangerOp {
	kind := func(fault string) string {
		words := strings.FieldsFunc(fault, func(r rune) bool { return r < 'a' || r > 'z' })
		return strings.Join(words[:min(5, len(words))], " ")
	}
	for size := len(ops) / 2; size > 0; size /= 2 {
		for i := 0; i < len(ops); {
			fewer := slices.Delete(slices.Clone(ops), i, min(i+size, len(ops)))
			if got := strangerPlay(f, fewer); cmp.Compare(kind(got), kind(fault)) == 0 {
				ops = fewer
			} else {
				i += size
			}
		}
		if size == 1 {
			break
		}
	}
	return ops
}

// TestStrangerWorlds plays random worlds that mix everything and checks them from the
// commands, the events and the views only.
func TestStrangerWorlds(t *testing.T) {
	first, count := uint64(1), uint64(280) // STRANGER="seed count" plays others, REDUCE shortens what fails
	if s := os.Getenv("STRANGER"); s != "" {
		fmt.Sscan(s, &first, &count)
	}
	settled, checked, placed := 0, 0, 0
	for seed := first; seed < first+count; seed++ {
		m := newStrangerMaker(seed)
		fault := strangerCatch(func() { m.run(60) })
		settled += m.w.settled
		checked += m.w.checked
		placed += int(m.w.p.View().Work.Placements)
		if fault != "" {
			t.Errorf("seed %d: %s", seed, fault)
			if os.Getenv("REDUCE") != "" {
				f := m.w.features
				f.Config = core.Config{}
				t.Logf("%+v", f)
				ops := strangerReduce(m.w.features, m.ops, fault)
				for _, o := range ops {
					t.Log(o)
				}
				_ = os.Setenv("STRANGER_TRACE", "1")
				t.Log(strangerPlay(m.w.features, ops))
				_ = os.Setenv("STRANGER_TRACE", "")
			}
		}
	}
	t.Logf("settled %d, checked %d, placed %d", settled, checked, placed)
}

// TestStrangerWorldsRepeat plays worlds twice and compares every byte of every effect.
func TestStrangerWorldsRepeat(t *testing.T) {
	for seed := uint64(10_000); seed < 10_030; seed++ {
		m := newStrangerMaker(seed)
		sums := [2]uint64{}
		first := fnv.New64a()
		m.w.printed = func(text []byte) { _, _ = first.Write(text) }
		if fault := strangerCatch(func() { m.run(50) }); fault != "" {
			t.Errorf("seed %d: %s", seed, fault)
			continue
		}
		second := fnv.New64a()
		again := newStrangerWorld(m.w.features)
		again.printed = func(text []byte) { _, _ = second.Write(text) }
		for _, o := range m.ops {
			again.do(o)
		}
		sums[0], sums[1] = first.Sum64(), second.Sum64()
		if sums[0] != sums[1] {
			t.Errorf("seed %d: %s", seed, strconv.FormatUint(sums[0], 16))
		}
	}
}
