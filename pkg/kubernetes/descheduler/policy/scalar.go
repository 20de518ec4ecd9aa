package policy

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// text is a plain text; false if it is something else.
func (c cursor) text() (string, bool) {
	if !c.IsScalar() {
		c.fail("must be a text, not %s", c.Describe())
		return "", false
	}
	switch c.Node.ShortTag() {
	case "!!str", "!!timestamp":
		return c.Node.Value, true
	case "!!null":
		return "", true
	}
	c.fail("must be a text, not %s; write it in quotes", c.shown())
	return "", false
}

// shown is the value in a message: what is no text stands without quotes. A text that would be one
// of the wanted kinds without its quotes is told as such.
func (c cursor) shown(wanted ...string) string {
	if !c.IsScalar() || c.IsNull() {
		return c.Describe()
	}
	if c.Node.ShortTag() != "!!str" {
		return yamltree.Clip(c.Node.Value)
	}
	bare := yaml.Node{Kind: yaml.ScalarNode, Value: c.Node.Value}
	if slices.Contains(wanted, bare.ShortTag()) {
		return "the text " + c.Describe() + "; remove its quotes"
	}
	return c.Describe()
}

// boolean is true or false; ok is false if it is something else.
func (c cursor) boolean() (value, ok bool) {
	if !c.IsScalar() || c.Node.Decode(&value) != nil {
		c.fail("must be true or false, not %s", c.shown("!!bool"))
		return false, false
	}
	return value, true
}

// integer is a whole number within bounds; false if it is something else.
func (c cursor) integer(least, most int64) (n int64, ok bool) {
	switch {
	case !c.IsScalar() || c.Node.ShortTag() != "!!int":
		c.fail("must be a whole number%s, not %s%s", bounds(least, most), c.shown("!!int"), c.inSeconds())
	case c.Node.Decode(&n) != nil || n > most:
		c.fail("must be at most %d, not %s", most, c.shown())
	case n < least:
		c.fail("must be at least %d, not %s", least, c.shown())
	default:
		return n, true
	}
	return 0, false
}

// inSeconds is a hint where a number of seconds is a duration with a unit.
func (c cursor) inSeconds() string {
	d, err := time.ParseDuration(c.Node.Value)
	if err != nil || !strings.HasSuffix(c.Path, "Seconds") || d <= 0 || d%time.Second != 0 {
		return ""
	}
	return fmt.Sprintf("; write %d", d/time.Second)
}

func bounds(least, most int64) string {
	switch {
	case most >= math.MaxInt32 && least <= math.MinInt32:
		return " such as 10"
	case most >= math.MaxInt32:
		return fmt.Sprintf(" of at least %d", least)
	default:
		return fmt.Sprintf(" from %d to %d", least, most)
	}
}

// number is any finite number; false if it is something else.
func (c cursor) number() (n float64, ok bool) {
	tag := c.Node.ShortTag()
	if !c.IsScalar() || tag != "!!int" && tag != "!!float" || c.Node.Decode(&n) != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		c.fail("must be a number such as 1.5, not %s", c.shown("!!int", "!!float"))
		return 0, false
	}
	return n, true
}

// count is a whole number of at least zero, for a limit; nil if it is something else.
func (c cursor) count() *int {
	n, ok := c.integer(0, math.MaxInt32)
	if !ok {
		return nil
	}
	count := int(n)
	return &count
}

var digits = regexp.MustCompile("[0-9]+")

// duration is a duration as Go writes it; zero if it is something else.
func (c cursor) duration() time.Duration {
	if c.IsScalar() {
		if d, err := time.ParseDuration(c.Node.Value); err == nil {
			return d
		}
		if _, err := time.ParseDuration(digits.ReplaceAllString(c.Node.Value, "1")); err == nil {
			c.fail("%s is longer than a duration can be, which is 292 years", c.Describe())
			return 0
		}
		if c.Node.ShortTag() == "!!int" {
			c.fail("must be a duration such as 90s, 5m or 1h30m, not %s, which has no unit", c.shown())
			return 0
		}
	}
	c.fail("must be a duration such as 90s, 5m or 1h30m, not %s", c.shown())
	return 0
}

// span is a duration that is not negative.
func (c cursor) span() time.Duration {
	d := c.duration()
	if d < 0 {
		c.fail("must be at least 0s, not %s", d)
		return 0
	}
	return d
}
