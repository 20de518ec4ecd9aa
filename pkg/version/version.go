// Package version is which release of Narwhal a program was built from.
package version

import (
	"runtime/debug"
	"strings"
)

// Version is the release, or the next one. CHANGELOG.md says what is in it.
const Version = "v0.1.0"

// Text is the release, the commit if it is known, and the version of Go, as commands print it.
func Text() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version
	}
	words := []string{Version}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			words = append(words, setting.Value[:min(12, len(setting.Value))])
		}
	}
	return strings.Join(append(words, info.GoVersion), " ")
}
