package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
)

// TestWhatIfNodes: nodes are added, drained and removed in the form; what is wrong with that
// is said at the field, and the outcome is what REST says.
func TestWhatIfNodes(t *testing.T) {
	t.Parallel()
	s := teams.site(t)
	p := s.open(t, "#/whatif", look{})
	p.allow("400")
	p.arrives("whatif")
	p.click("main summary", "With other nodes")
	p.fill("Remove", "no-such-node")
	p.click("main .question-remove", "")
	p.click("main button[type=submit]", "Simulate")
	assert.Equal(t, p.wrong("Remove"), "Node no-such-node is not registered")
	p.fill("Remove", "general-001")
	p.fill("Add", "big:2:pods")
	p.press(kb.Enter)
	assert.Equal(t, p.wrong("Add"), "pods is no amount of a kind, as vcore=16 is.")
	p.fill("Add", "big:2:cpu=64,memory=256Gi")
	p.fill("Drain", "general-002, general-003")
	p.press(kb.Enter)
	p.sees("main .whatif-result .lead", "With the other nodes")
	o := s.play(t, `{"nodes":{"add":[{"nodeId":"big","count":2,"capacity":{"vcore":64000,"memory":274877906944}}],"drain":["general-002","general-003"],"remove":["general-001"]}}`)
	assert.Assert(t, len(o.Moved) > 1)
	p.sees("main .whatif-result .lead", fmt.Sprintf("%d pods of removed nodes would be asked for anew", len(o.Moved)))
	rows := p.rows("What runs on removed nodes")[1:]
	assert.Equal(t, len(rows), len(o.Moved))
	for i, one := range o.Moved {
		assert.Equal(t, rows[i][0], one.AllocationKey)
	}

	again := s.page(t, evaluate[string](p, `return location.hash`)) // the address holds the question
	again.arrives("whatif")
	again.sees("main .whatif-result .lead", "With the other nodes")
	assert.Equal(t, evaluate[string](again, `return document.getElementById("whatif-nodes-add").value`), "big:2:vcore=64,memory=256Gi")
}
