package webservice

import (
	"net/http"
	"strconv"
	"strings"
)

// acceptsGzip reports whether a client wants its answer compressed: it names
// gzip or *, with a weight above zero and not below that of identity.
func acceptsGzip(header http.Header) bool {
	const unnamed = -1
	gzip, rest, identity := unnamed, unnamed, 0
	for _, line := range header.Values("Accept-Encoding") {
		for element := range strings.SplitSeq(line, ",") {
			name, weight := weighted(element)
			switch name {
			case "gzip", "x-gzip":
				gzip = weight
			case "*":
				rest = weight
			case "identity":
				identity = weight
			}
		}
	}
	if gzip == unnamed {
		gzip = rest
	}
	return gzip > 0 && gzip >= identity
}

// weighted reads one element of a list such as "gzip;q=0.5": the name in lower
// case and its weight in thousandths. A weight that cannot be read is zero, so
// that what a client may not have meant is not sent.
func weighted(element string) (name string, weight int) {
	name, parameters, _ := strings.Cut(element, ";")
	weight = 1000
	for parameter := range strings.SplitSeq(parameters, ";") {
		key, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.TrimSpace(key), "q") {
			weight = thousandths(strings.TrimSpace(value))
		}
	}
	return strings.ToLower(strings.TrimSpace(name)), weight
}

// thousandths reads a number from 0 to 1 with up to three digits after the point.
func thousandths(text string) int {
	whole, part, _ := strings.Cut(text, ".")
	if len(whole) != 1 || len(part) > 3 || strings.ContainsAny(text, "+-") {
		return 0
	}
	n, err := strconv.Atoi(whole + part + "000"[len(part):])
	if err != nil || n > 1000 {
		return 0
	}
	return n
}

// matches reports whether a client has the answer with this tag already. The
// comparison is the weak one: W/ does not count.
func matches(header http.Header, tag string) bool {
	for _, line := range header.Values("If-None-Match") {
		for known := range strings.SplitSeq(line, ",") {
			known = strings.TrimSpace(known)
			if known == "*" || strings.TrimPrefix(known, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}
