package browser

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestWander clicks on whatever there is, one after another and faster than answers
// come: nothing that is left in the middle, and no way from one view to another, may
// bring forth an error.
func TestWander(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			chance := rand.New(rand.NewPCG(seed, seed))
			var way []string
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the way there:\n%s", strings.Join(way, "\n"))
				}
			})
			p := teams.site(t).page(t, "#/"+panels[seed].id)
			p.becomes(look{light: seed%2 == 1})
			p.allow("404 (Not Found)", "400 (Bad Request)") // of pods that have gone, and of half a question
			p.arrives(panels[seed].id)
			for i := range 50 {
				if i%10 == 9 { // not to stay where there is most to click on
					evaluate[any](p, `location.hash = "#/" + args[0]; return true`, panels[chance.IntN(len(panels))].id)
				}
				way = append(way, evaluate[string](p, `
					const some = t.all("main a, main button, main summary, main tr").filter((e) => !e.disabled);
					const one = some[Math.floor(args[0] * some.length)];
					const told = location.hash + " " + (one ? one.textContent.slice(0, 40) : "nothing");
					one?.click();
					await t.frames(2);
					return told`, chance.Float64()))
			}
			p.click("#nav a", "Overview")
			p.arrives("overview")
		})
	}
}
