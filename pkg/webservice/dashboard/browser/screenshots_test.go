package browser

import (
	"bytes"
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

// pictureMax is the most bytes of one of them.
const pictureMax = 250 << 10

var (
	desk       = look{width: 1400, height: 900}
	deskLight  = look{width: 1400, height: 900, light: true}
	phone      = look{width: 400, height: 820}
	phoneLight = look{width: 400, height: 820, light: true}
)

// pictures are the screenshots that the documents show.
var pictures = []struct {
	name, scene string
	how         look
}{
	{"dashboard-overview", "overview", desk},
	{"dashboard-overview-light", "overview", deskLight},
	{"dashboard-queues", "queue", desk},
	{"dashboard-nodes", "node", desk},
	{"dashboard-nodes-light", "node", deskLight},
	{"dashboard-pending", "pending", deskLight},
	{"dashboard-why", "why", desk},
	{"dashboard-preemption", "preemption-quota", desk},
	{"dashboard-events", "events", desk},
	{"dashboard-whatif", "whatif", deskLight},
	{"dashboard-overview-narrow", "overview", phone},
	{"dashboard-why-narrow", "why", phoneLight},
}

// TestScreenshots takes the pictures of the documents and looks whether there is
// anything on them. With -update they are written to docs/images:
//
//	go test ./pkg/webservice/dashboard/... -run Screenshots -update
func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if golden.FlagUpdate() {
		dir = images
		assert.NilError(t, os.MkdirAll(dir, 0o755))
	}
	for _, one := range pictures {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(scenes, func(c scene) bool { return c.name == one.scene })
			p := scenes[i].open(t, one.how)
			taken, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
			assert.NilError(t, err)
			picture, err := png.Decode(bytes.NewReader(taken))
			assert.NilError(t, err)
			assert.Equal(t, picture.Bounds().Dx(), int(one.how.width))
			somethingOn(t, picture)
			small := compressed(t, picture)
			assert.Assert(t, len(small) <= pictureMax, "%d bytes", len(small))
			assert.NilError(t, os.WriteFile(filepath.Join(dir, one.name+".png"), small, 0o644))
		})
	}
}

// somethingOn fails if a picture is blank: most of it, or all of one of its quarters
// in height, has one colour. The last quarter may be.
func somethingOn(t *testing.T, picture image.Image) {
	t.Helper()
	size := picture.Bounds()
	for quarter := range 3 {
		colours := map[color.RGBA]int{}
		for y := size.Dy() * quarter / 4; y < size.Dy()*(quarter+1)/4; y++ {
			for x := range size.Dx() {
				colours[color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)]++
			}
		}
		most := 0
		for _, n := range colours {
			most = max(most, n)
		}
		all := size.Dx() * size.Dy() / 4
		assert.Assert(t, len(colours) > 20 && most < all*99/100, "quarter %d has %d colours, %d of %d pixels have the same", quarter, len(colours), most, all)
	}
}

// compressed is a picture with a palette of 256 colours, which nobody sees in a page,
// as small as it gets.
func compressed(t *testing.T, picture image.Image) []byte {
	t.Helper()
	bounds := picture.Bounds()
	palette := commonColours(picture, 256)
	out := image.NewPaletted(bounds, palette)
	nearest := map[color.RGBA]uint8{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)
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
func commonColours(picture image.Image, most int) color.Palette {
	type tally struct {
		colour color.RGBA
		n      int
	}
	exact := map[color.RGBA]int{}
	bounds := picture.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			exact[color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)]++
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
