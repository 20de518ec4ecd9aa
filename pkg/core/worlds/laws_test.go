package worlds

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A reader looks in a game for something that is not as it must be.
type reader func(g *game) []failure

// A law is something that holds in every world. It sees commands, events, views and Verify.
type law struct {
	name     string
	moment   reader // when Schedule says no more
	eviction reader // when one is requested, before it is booked
	rest     reader // when nothing happens any more
}

// laws are all laws. Each has its own file.
var laws = []law{
	{name: lawBooks, moment: booksAgree},
	{name: lawSafe},
	{name: lawVictim, eviction: victimsAreLawful},
	{name: lawLeast, rest: victimsAreTheLeast},
	{name: lawPlacement, rest: killsAreForNothing},
	{name: lawFeasible, rest: triesEverything},
	{name: lawRestart},
	{name: lawRest},
	{name: lawAccess},
	{name: lawUsable, moment: claimsAreUsable},
	{name: lawPriority, moment: nothingIsPassed},
	{name: lawKept, eviction: evictsBesideKeptRoom},
	{name: lawWhole, moment: groupsStartWhole},
	{name: lawWaits},
	{name: lawDomain, moment: claimsAreInOneDomain, eviction: evictsInDomain},
	{name: lawLiveness, moment: endlessAsks},
}

// lawRest says that a world comes to rest.
const lawRest = "a world comes to rest"

// lookAt has laws look at a game.
func (g *game) lookAt(when func(*law) reader) {
	for i := range laws {
		if look := when(&laws[i]); look != nil && !g.blind {
			for _, f := range look(g) {
				f.Law = laws[i].name
				g.breaks(f)
			}
		}
	}
}

// breaks notes a failure, once for each class.
func (g *game) breaks(f failure) {
	for _, other := range g.broken {
		if other.class() == f.class() {
			return
		}
	}
	f.At = g.now.Sub(start)
	g.broken = append(g.broken, f)
}

// A failure is a broken law.
type failure struct {
	At      time.Duration
	Law     string
	Ask     string
	Trigger preemptor.Trigger
	Cause   string
	Detail  string
}

// class is what the list of known failures goes by.
func (f failure) class() string {
	if f.Law == lawRest || f.Law == lawBooks {
		return f.Law + "/" + f.Cause
	}
	return fmt.Sprintf("%s/%v/%s", f.Law, f.Trigger, f.Cause)
}

// String is a failure in words.
func (f failure) String() string {
	return fmt.Sprintf("at %v: %s: %s: %s (%v, %s)", f.At, f.Law, f.Ask, f.Cause, f.Trigger, f.Detail)
}

// failuresOf plays a world and returns the laws that it breaks.
func failuresOf(w *world, lie lie) (list []failure, g *game) {
	return newGame(w, lie).failures()
}

// failures plays a game, and returns the laws that were broken.
func (g *game) failures() (list []failure, same *game) {
	rests := g.play()
	if g.isFound() {
		return g.broken, g
	}
	if rests {
		g.lookAt(func(l *law) reader { return l.rest })
		return g.nudged(g.broken), g
	}
	equals := g.w.Priority == api.EqualToo
	g.breaks(failure{Law: lawRest, Cause: when(equals, "among equal priorities") + when(!equals, "in order of priority")})
	return g.broken, g
}
