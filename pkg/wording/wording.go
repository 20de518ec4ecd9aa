// Package wording writes texts of the scheduler as operators read them: amounts with their
// units, and numbers of things. The texts themselves stay as they are, in events, in REST and in logs, since programs
// read them there.
package wording

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Several is a number of things in words, such as 1 error or 2 errors.
func Several(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// amountIn finds amounts.
var amountIn = regexp.MustCompile(`([a-z][a-zA-Z0-9./_-]*)=(-?\d+)\b`)

// Readable writes the amounts in a text as people do where nothing is lost by it:
// "memory=4Gi" for "memory=4294967296", "vcore=1.5" for "vcore=1500".
func Readable(text string) string {
	return amountIn.ReplaceAllStringFunc(text, func(found string) string {
		kind, number, _ := strings.Cut(found, "=")
		quantity, err := strconv.ParseInt(number, 10, 64)
		switch {
		case err != nil || quantity == 0:
			return found
		case resources.InThousandths(kind):
			return kind + "=" + resources.Thousandths(quantity)
		case resources.InBytes(kind):
			return kind + "=" + resources.WholeBytes(quantity)
		}
		return found
	})
}

// Age writes a length of time as kubectl does, in its largest unit.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

// ShortSum is the beginning of a checksum, by which people know a configuration.
func ShortSum(checksum string) string { return checksum[:min(8, len(checksum))] }
