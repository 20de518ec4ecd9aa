package browser

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// rows are the cells of a table with a label, as people read them, with single
// spaces; the first row is the heading.
func (p *page) rows(label string) [][]string {
	p.t.Helper()
	p.until(`t.one("main [role=region][aria-label='" + args[0] + "'] tbody tr")`, label)
	return evaluate[[][]string](p, `
		const table = t.one("main [role=region][aria-label='" + args[0] + "']");
		return [...table.querySelectorAll("tr")].map((row) => [...row.cells].map((cell) => cell.innerText.replace(/\s+/g, " ").trim()));`, label)
}

// column is the cells below a heading of such a table.
func (p *page) column(label, heading string) (cells []string) {
	p.t.Helper()
	rows := p.rows(label)
	for i, head := range rows[0] {
		if head != heading {
			continue
		}
		for _, row := range rows[1:] {
			cells = append(cells, row[i])
		}
		return cells
	}
	p.t.Fatalf("%s has no column %q: %q", label, heading, rows[0])
	return nil
}

// pair is the value beside a name in the first list of pairs that has the name.
func (p *page) pair(name string) string {
	p.t.Helper()
	p.until(`t.all("main dt").find((dt) => dt.textContent.trim() === args[0])`, name)
	return evaluate[string](p, `return t.all("main dt").find((dt) => dt.textContent.trim() === args[0]).parentNode.querySelector("dd").innerText.replace(/\s+/g, " ").trim()`, name)
}

// count is a whole number as the page writes it.
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// amount is a quantity of vcore or memory as the page writes it, made independently
// of it.
func amount(kind string, n int64) string {
	if kind == "memory" {
		value, unit := float64(n), 0
		for value >= 1024 && unit < 6 {
			value, unit = value/1024, unit+1
		}
		digits := 1
		if unit == 0 || value >= 100 {
			digits = 0
		}
		return fmt.Sprintf("%.*f %s", digits, up(value), [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}[unit])
	}
	value := float64(n)
	if kind == "vcore" || kind == "gpu" {
		value /= 1000
	}
	digits := 2
	switch {
	case value >= 100 || value == math.Trunc(value):
		digits = 0
	case value >= 10:
		digits = 1
	}
	text := strconv.FormatFloat(up(value), 'f', digits, 64)
	whole, rest, broken := strings.Cut(text, ".")
	n, _ = strconv.ParseInt(whole, 10, 64)
	whole = count(int(n))
	if rest = strings.TrimRight(rest, "0"); broken && rest != "" {
		return whole + "." + rest
	}
	return whole
}

// up is a hair above the value: the page rounds a half up, Go to the even digit.
func up(value float64) float64 { return math.Nextafter(value, math.Inf(1)) }

// amounts are vcore and memory, and others in between, as the page writes them.
func amounts(of map[string]int64) string {
	var parts []string
	for _, kind := range []string{"vcore", "memory", "gpu", "pods"} {
		if n, there := of[kind]; there {
			parts = append(parts, kind+" "+amount(kind, n))
		}
	}
	return strings.Join(parts, " · ")
}

// at is a moment as the page writes the time of day.
func at(nanos int64) string { return time.Unix(0, nanos).UTC().Format("15:04:05") }

// capital is a text with a large letter at its start.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// TestWriting: what the other tests compare with is right itself.
func TestWriting(t *testing.T) {
	for _, c := range []struct {
		kind string
		n    int64
		want string
	}{
		{"vcore", 1500, "1.5"},
		{"vcore", 16000, "16"},
		{"vcore", 6_384_200, "6,384"},
		{"vcore", 250, "0.25"},
		{"vcore", 12_340, "12.3"},
		{"vcore", 4_622_500, "4,623"},
		{"vcore", 10_250, "10.3"},
		{"memory", 4 << 30, "4.0 GiB"},
		{"memory", 356 << 30, "356 GiB"},
		{"memory", 100, "100 B"},
		{"memory", 5 << 28, "1.3 GiB"},
		{"pods", 110, "110"},
	} {
		assert.Equal(t, amount(c.kind, c.n), c.want)
	}
	assert.Equal(t, count(1234567), "1,234,567")
}
