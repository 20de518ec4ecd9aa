package outcome

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/scenarios"
)

// The page has the figures and what was wrong, is whole without a network, and its drawings
// are well-formed.
func TestPage(t *testing.T) {
	r := sample()
	r.Machine = `<script>alert("1")</script>`
	for _, nodes := range []int{10, 100, 1000} {
		c := scenarios.Case{Scenario: scenarios.Growth, Of: "nodes", At: nodes}
		r.Add(c, Ours, result(20_000, 1))
		if nodes < 1000 {
			r.Add(c, Theirs, result(float64(10_000/nodes), 30))
		}
	}
	var b bytes.Buffer
	assert.NilError(t, r.WritePage(&b))
	text := b.String()
	for _, part := range []string{"<td>20,000</td>", "<td>200 (!)</td>", "have the mark (!)", "yunikorn: filling, run 2: wrong", "filling: rate", "Filling, as nodes grow", scenarios.About(scenarios.Growth)} {
		assert.Assert(t, strings.Contains(text, part), part)
	}
	bare := strings.ReplaceAll(text, `xmlns="http://www.w3.org/2000/svg"`, "")
	for _, outside := range []string{"http:", "https:", "<script", "<link", "<img", "@import", "url("} {
		assert.Assert(t, !strings.Contains(bare, outside), outside)
	}
	drawings := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(text, -1)
	assert.Equal(t, len(drawings), 4) // two, in two sizes
	for _, drawing := range drawings {
		assert.Assert(t, !strings.Contains(drawing, "NaN") && !strings.Contains(drawing, "Inf"))
		decoder := xml.NewDecoder(strings.NewReader(drawing))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			assert.NilError(t, err)
		}
	}
}

// A bar has another colour where YuniKorn is better, and goes to the left.
func TestBarsOfRatios(t *testing.T) {
	r := &Report{}
	for core, value := range map[string]float64{Ours: 10, Theirs: 5} {
		r.Add(scenarios.Case{Scenario: scenarios.Full}, core, result(value, value))
	}
	rows := r.ratios().Rows
	assert.Equal(t, len(rows), 2)
	assert.Equal(t, rows[0].Name+" "+rows[0].Text+" "+rows[0].Class, "full cluster: rate 2 c0")
	assert.Equal(t, rows[1].Name+" "+rows[1].Text+" "+rows[1].Class, "full cluster: time 0.500 c7")
}

// A report without any run is a page too.
func TestPageOfNothing(t *testing.T) {
	assert.NilError(t, new(Report).WritePage(io.Discard))
}

// The texts beside an axis are short.
func TestShort(t *testing.T) {
	for v, want := range map[float64]string{0.01: "0.01", 0.1: "0.1", 1: "1", 100: "100", 1e3: "1k", 1e5: "100k", 1e6: "1M", 1e8: "100M"} {
		assert.Equal(t, short(v), want)
	}
}
