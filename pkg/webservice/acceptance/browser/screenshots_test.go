package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// images is where the screenshots of the documents are.
const images = "../../../../docs/images"

// screenshotMax is the most bytes of one of them.
const screenshotMax = 250 << 10

var (
	wide       = look{width: 1400, height: 900}
	wideLight  = look{width: 1400, height: 900, light: true}
	phone      = look{width: 400, height: 820}
	phoneLight = look{width: 400, height: 820, light: true}
)

// screenshots are the screenshots that the documents show: of a cluster as a Kubernetes shim
// reports it and, where queues in each guarantee state or limits tell more, of stages with these.
var screenshots = []scene{
	{name: "dashboard-overview", play: k8s, panel: "overview"},
	{name: "dashboard-overview-light", play: k8s, panel: "overview", how: wideLight},
	{name: "dashboard-overview-narrow", play: k8s, panel: "overview", how: phone},
	{name: "dashboard-queues", play: k8s, panel: "queues", at: fixed("#/queues/root.ml")},
	{name: "dashboard-guarantees", play: guarantees, panel: "queues", at: fixed("#/queues?view=guarantees"), how: look{width: 1400, height: 460, light: true}},
	{name: "dashboard-nodes", play: k8s, panel: "nodes", at: fixed("#/nodes/" + drainedNode + "?zoom=3")},
	{name: "dashboard-nodes-light", play: k8s, panel: "nodes", at: fixed("#/nodes/" + drainedNode + "?zoom=3"), how: wideLight},
	{name: "dashboard-pending", play: k8sEvicting, panel: "applications", at: fixed("#/applications?view=pending"), how: wideLight},
	{name: "dashboard-why", play: k8sEvicting, panel: "applications", at: atNominated},
	{name: "dashboard-why-narrow", play: k8sEvicting, panel: "applications", at: atNominated, how: phoneLight},
	{name: "dashboard-preemption", play: k8sEvicting, panel: "preemption", at: atPlan("victims=true&limit=1"), act: seesPlan},
	{name: "dashboard-users", play: limits, panel: "users", how: look{width: 1400, height: 560}},
	{name: "dashboard-events", play: k8s, panel: "events"},
	{name: "dashboard-whatif", play: k8s, panel: "whatif", at: func(t *testing.T, s *site) string {
		return s.addressed(t, "#/whatif?question=QUESTION")
	}, act: seesOutcome, how: wideLight},
}

// TestScreenshots takes the screenshots of the documents and looks whether there is
// anything on them. With -update they are written to docs/images:
//
//	cd pkg/webservice/acceptance && go test ./browser -run Screenshots -update
func TestScreenshots(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	t.Parallel()
	tour(t, screenshots, wide, func(p *page, c scene) {
		taken, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		assert.NilError(p.t, err)
		screenshot, err := png.Decode(bytes.NewReader(taken))
		assert.NilError(p.t, err)
		assert.Equal(p.t, screenshot.Bounds().Dx(), int(cmp.Or(c.how, wide).width))
		somethingOn(p.t, screenshot)
		path := filepath.Join(images, c.name+".png")
		if golden.FlagUpdate() {
			assert.NilError(p.t, os.MkdirAll(images, 0o755))
			assert.NilError(p.t, os.WriteFile(path, compressed(p.t, screenshot), 0o644))
		}
		kept, err := os.Stat(path)
		assert.NilError(p.t, err)
		assert.Assert(p.t, kept.Size() > 0 && kept.Size() <= screenshotMax, "%d bytes", kept.Size())
	})
}

// somethingOn fails if a screenshot is blank: nearly all of one of its quarters in height
// has one colour. The last quarter may be. One pixel of nine is looked at.
func somethingOn(t *testing.T, screenshot image.Image) {
	t.Helper()
	size := screenshot.Bounds()
	for quarter := range 3 {
		colours := map[color.Color]int{}
		most, all := 0, 0
		for y := size.Dy() * quarter / 4; y < size.Dy()*(quarter+1)/4; y += 3 {
			for x := 0; x < size.Dx(); x += 3 {
				c := screenshot.At(x, y)
				colours[c]++
				most, all = max(most, colours[c]), all+1
			}
		}
		assert.Assert(t, len(colours) > 20 && most < all*99/100, "quarter %d has %d colours, %d of %d pixels have the same", quarter, len(colours), most, all)
	}
}

// compressed is a screenshot with a palette of 256 colours, which is not to be seen in a page,
// as small as it gets.
func compressed(t *testing.T, screenshot image.Image) []byte {
	t.Helper()
	bounds := screenshot.Bounds()
	palette := commonColours(screenshot, 256)
	out := image.NewPaletted(bounds, palette)
	nearest := map[color.RGBA]uint8{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := color.RGBAModel.Convert(screenshot.At(x, y)).(color.RGBA)
			index, known := nearest[c]
			if !known {
				index = uint8(palette.Index(c))
				nearest[c] = index
			}
			out.SetColorIndex(x, y, index)
		}
	}
	var buffer bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	assert.NilError(t, encoder.Encode(&buffer, out))
	return buffer.Bytes()
}

// commonColours are the colours that are seen most, of those that differ: the low
// bits of a colour do not count.
func commonColours(screenshot image.Image, most int) color.Palette {
	type tally struct {
		colour color.RGBA
		n      int
	}
	exact := map[color.RGBA]int{}
	bounds := screenshot.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			exact[color.RGBAModel.Convert(screenshot.At(x, y)).(color.RGBA)]++
		}
	}
	var list []tally
	for c, n := range exact {
		list = append(list, tally{c, n})
	}
	key := func(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }
	slices.SortFunc(list, func(a, b tally) int {
		if a.n != b.n {
			return b.n - a.n
		}
		return key(a.colour) - key(b.colour)
	})
	var palette color.Palette
	taken := map[int]bool{}
	for _, one := range list {
		rough := key(one.colour) & 0xf0f0f0
		if len(palette) >= most/4 && taken[rough] {
			continue // the most common are kept as they are
		}
		if len(palette) == most {
			break
		}
		taken[rough] = true
		palette = append(palette, one.colour)
	}
	return palette
}
