package worlds

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// newWorld makes up a world: most come to rest, and in one of sixteen pods come again without end.
func newWorld(seed uint64) *world {
	if seed%16 == 3 && seed < largeWorlds {
		return newStreamWorld(seed)
	}
	return newRestWorld(seed)
}

const (
	// shown is how many worlds of a class are reduced, to show the shortest.
	shown = 3
	// seedsNamed is how many worlds of a class are named, to play them again.
	seedsNamed = 20
	// parts is in how many parts worlds are played beside each other.
	parts = 7
)

// A tally is what came about in some worlds.
type tally struct {
	sync.Mutex

	told, waits, failed int
	found               map[string][]uint64 // seeds by class
	seen                map[string]int      // in how many worlds something came about
}

func (s *tally) add(seed uint64, g *game, failures []failure) {
	s.Lock()
	defer s.Unlock()
	s.told += min(1, len(g.evictions))
	s.waits += min(1, len(g.waits))
	for _, what := range g.seen {
		s.seen[what]++
	}
	for _, f := range failures {
		if list := s.found[f.class()]; !slices.Contains(list, seed) {
			s.found[f.class()] = append(list, seed)
		}
	}
	s.failed += count(len(failures) > 0)
}

// TestWorlds plays random worlds and checks the laws. TORTURE="seed count" plays other worlds.
// With BROKEN, worlds that break a law are reduced, and written into that directory.
func TestWorlds(t *testing.T) {
	seed, count := uint64(1), 3000
	if first, many, torture := seeds.Torture(t); torture {
		seed, count = first, int(many)
	}
	if testing.Short() {
		count = min(count, 64)
	}
	all := &tally{found: map[string][]uint64{}, seen: map[string]int{}}
	t.Run("play", func(t *testing.T) {
		for part := range parts {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for s := part; s < count; s += parts {
					failures, g := failuresOf(newWorld(seed+uint64(s)), nil)
					all.add(seed+uint64(s), g, failures)
				}
			})
		}
	})
	t.Logf("%d worlds: room is made in %d, an ask waits at the end of %d, a law is broken in %d", count, all.told, all.waits, all.failed)
	if count > 1000 && (all.told < count/5 || all.waits < count/5) {
		t.Error("the worlds are too easy or too hard to show anything")
	}
	for _, what := range sights {
		if count > 1000 && all.seen[what] < 5 {
			t.Errorf("%s in %d worlds", what, all.seen[what])
		}
	}
	all.tell(t, count)
}

// tell names what broke a law.
func (s *tally) tell(t *testing.T, count int) {
	classes := slices.SortedFunc(maps.Keys(s.found), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(s.found[b]), len(s.found[a])), strings.Compare(a, b))
	})
	for _, class := range classes {
		seeds := s.found[class]
		slices.Sort(seeds)
		text := fmt.Sprintf("%d of %d worlds: %s, seeds %v", len(seeds), count, class, seeds[:min(len(seeds), seedsNamed)])
		if dir := os.Getenv("BROKEN"); dir != "" {
			name := strings.NewReplacer("/", " ", " ", "-").Replace(class) + ".txt"
			if err := os.WriteFile(filepath.Join(dir, name), []byte(reproduction(seeds, class)), 0o600); err != nil {
				t.Error(err)
			}
		}
		t.Error(text + reproduction(seeds, class))
	}
}

// reproduction is the shortest of some failing worlds as commands, and what comes of them.
func reproduction(seeds []uint64, class string) string {
	var shortest *world
	var from uint64
	for _, s := range seeds[:min(len(seeds), shown)] {
		if w := reduce(newWorld(s), class); shortest == nil || w.size() < shortest.size() {
			shortest, from = w, s
		}
	}
	g := newGame(shortest, nil)
	g.wanted = class
	failures, _ := g.failures()
	text := fmt.Sprintf("\n# Seed %d, reduced.\n%s# What happened:\n# %s\n", from, g.script.String(), strings.Join(g.log, "\n# "))
	for _, f := range failures {
		text += "# " + f.String() + "\n"
	}
	return text
}
