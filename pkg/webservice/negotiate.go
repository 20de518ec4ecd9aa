package webservice

import (
	"net/http"
	"strings"
)

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
