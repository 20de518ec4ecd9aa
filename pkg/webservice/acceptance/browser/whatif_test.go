package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
)

// What tests read of the outcome of a what-if.
type outcome struct {
	Asks []struct {
		AllocationKey, NodeID, NominatedNode, Refused string
		Waits                                         *struct{ Why string }
	}
	Moved []struct{ AllocationKey string }
}

// play asks REST what would come of a question.
func (s *site) play(t *testing.T, question string) (o outcome) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/ws/v1/partition/default/whatif", bytes.NewBufferString(question))
	r.Header.Set("Content-Type", "application/json")
	s.rest.ServeHTTP(w, r)
	assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &o))
	return o
}

// fill types into the field with a label, in place of what is there.
func (p *page) fill(label, text string) {
	p.t.Helper()
	p.until(`t.all("main label").find((l) => l.textContent.trim() === args[0])`, label)
	evaluate[any](p, `
		const field = document.getElementById(t.all("main label").find((l) => l.textContent.trim() === args[0]).htmlFor);
		field.focus();
		field.select();
		return true`, label)
	p.press(kb.Delete, text)
}

// wrong is what the page says is wrong with the field of a label.
func (p *page) wrong(label string) string {
	p.t.Helper()
	const field = `document.getElementById(t.all("main label").find((l) => l.textContent.trim() === args[0]).htmlFor)`
	p.until(field+`.getAttribute("aria-invalid") === "true"`, label)
	return evaluate[string](p, `return document.getElementById(`+field+`.getAttribute("aria-describedby").split(" ")[0]).textContent`, label)
}

// TestWhatIf: a question is filled in, played, and its outcome is what REST says.
func TestWhatIf(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	app := s.nominated(t).ApplicationID
	p := s.page(t, "#/whatif")
	p.arrives("whatif")
	p.click("main button", "Clear") // what was asked before
	p.fill("Application", app)
	p.fill("vcore", "1.5")
	p.fill("memory", "2Gi")
	p.fill("Priority", "200")
	p.fill("How many", "3")
	p.press(kb.Enter)
	p.sees("main .whatif-result h2", "What would come of it")
	o := s.play(t, fmt.Sprintf(`{"asks":[{"allocationKey":"try","applicationId":%q,"resource":{"vcore":1500,"memory":2147483648},"priority":200,"count":3}]}`, app))
	rows := p.rows("What becomes of the asks")[1:]
	assert.Equal(t, len(rows), 3)
	for i, outcome := range o.Asks {
		assert.Equal(t, rows[i][0], outcome.AllocationKey)
		switch {
		case outcome.NodeID != "":
			assert.Equal(t, rows[i][2], "on "+outcome.NodeID)
		case outcome.NominatedNode != "":
			assert.Equal(t, rows[i][2], "on "+outcome.NominatedNode)
		default:
			assert.Assert(t, outcome.Waits != nil)
		}
	}

	// The question is in the address: another reader sees the same.
	p.until(`location.hash.includes("question=")`)
	other := s.page(t, evaluate[string](p, `return location.hash`))
	other.arrives("whatif")
	assert.DeepEqual(t, other.rows("What becomes of the asks")[1:], rows)
}

// TestWhatIfWaits: an ask that no node can have waits, and says why.
func TestWhatIfWaits(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.page(t, "#/whatif")
	p.arrives("whatif")
	p.click("main button", "Clear") // what was asked before
	p.fill("Application", s.nominated(t).ApplicationID)
	p.fill("vcore", "100000")
	p.press(kb.Enter)
	p.sees("main .lead", "It would wait")
	p.sees("main .whatif-why", "by the first reason")
	p.click("main .whatif-result button", "Hide")
	p.until(`!t.one("main .whatif-why")`)
}

// TestWhatIfWrong: what is wrong stands beside its field, whether the page finds it or
// the scheduler does, and the focus goes there.
func TestWhatIfWrong(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.open(t, "#/whatif", look{})
	p.allow("400 (Bad Request)")
	p.arrives("whatif")
	p.click("main button[type=submit]", "")
	assert.Equal(t, p.wrong("Application"), "An ask belongs to an application.")
	p.until(`document.activeElement.id.includes("application")`)
	p.fill("vcore", "much")
	assert.Assert(t, p.wrong("vcore") != "")
	p.fill("vcore", "1")
	p.fill("How many", "-4")
	assert.Equal(t, p.wrong("How many"), "A whole number from 1 to 1000.")
	p.fill("How many", "1")
	p.fill("Application", "none")
	p.press(kb.Enter)
	assert.Equal(t, p.wrong("Application"), "No application of that name is active. If it is new, say its queue.")
	p.click("main button", "Clear")
	p.until(`!t.one("main [aria-invalid=true]") && t.one("main .whatif-result").textContent.includes("Nothing simulated yet")`)
}

// TestWhatIfOfANewApplication: an application that is not there comes with its queue, and
// one that would not be taken in says why.
func TestWhatIfOfANewApplication(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	queue := s.nominated(t).QueueName
	p := s.page(t, "#/whatif")
	p.arrives("whatif")
	p.click("main button", "Clear") // what was asked before
	p.fill("Application", "brand-new")
	p.fill("If it is new, its queue", "root.nowhere")
	p.fill("vcore", "100m")
	p.press(kb.Enter)
	assert.Assert(t, strings.Contains(p.wrong("If it is new, its queue"), "root.nowhere does not exist"))
	p.fill("If it is new, its queue", queue)
	p.press(kb.Enter)
	p.until(`!t.one("main [aria-invalid=true]") && !t.one("main .lead").textContent.includes("not be taken in")`)
	o := s.play(t, fmt.Sprintf(`{"applications":[{"applicationId":"brand-new","queueName":%q}],"asks":[{"allocationKey":"try","applicationId":"brand-new","resource":{"vcore":100}}]}`, queue))
	assert.Equal(t, o.Asks[0].Refused, "")
	p.until(`location.hash.includes("brand-new")`)
	other := s.page(t, evaluate[string](p, `return location.hash`))
	other.arrives("whatif")
	assert.DeepEqual(t, other.rows("What becomes of the asks")[1:], p.rows("What becomes of the asks")[1:])
}

// TestWhatIfConfiguration: another configuration is tried, and what is wrong with it
// has a line.
func TestWhatIfConfiguration(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.open(t, "#/whatif", look{})
	p.allow("400 (Bad Request)")
	p.arrives("whatif")
	p.click("main summary", "Under another configuration")
	p.click("main button", "Begin with the one in use")
	p.until(`document.getElementById("whatif-config").value.includes("partitions:")`)
	p.click("main [aria-label='Remove ask 1']", "") // only the configuration is asked about
	p.click("main button[type=submit]", "")
	p.sees("main .lead", "Under the other configuration")
	p.focus("#whatif-config")
	evaluate[any](p, `document.activeElement.setSelectionRange(0, 0); return true`)
	p.press("nonsense: [", kb.Enter)
	p.click("main button[type=submit]", "")
	p.sees("main .field-error", "line")
	p.until(`document.getElementById("whatif-config").getAttribute("aria-invalid") === "true"`)
	p.click("main button", "Go to line")
	p.until(`document.activeElement.id === "whatif-config"`)
}
