package tidy

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// link is a link in a document; pictures are links too.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// links looks for what documents point at: files of this repository, and headings
// of documents.
func links(t *tree, found report) {
	for _, x := range t.texts {
		if path.Ext(x.path) != ".md" {
			continue
		}
		for i, line := range x.lines {
			for _, match := range link.FindAllStringSubmatch(line, -1) {
				if target := match[1]; !strings.Contains(target, "://") && !t.leadsTo(x, target) {
					found(x.path, i+1, "%s leads nowhere", target)
				}
			}
		}
	}
}

// namedTest is the name of a test, a benchmark or a fuzz target in a document.
var namedTest = regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z]\\w*)`")

// namedTests looks for tests that documents name.
func namedTests(t *tree, found report) {
	declared := map[string]bool{}
	for _, f := range t.files {
		for _, d := range f.syntax.Decls {
			if function, is := d.(*ast.FuncDecl); is && f.test {
				declared[function.Name.Name] = true
			}
		}
	}
	for _, x := range t.texts {
		if path.Ext(x.path) != ".md" {
			continue
		}
		for i, line := range x.lines {
			for _, match := range namedTest.FindAllStringSubmatch(line, -1) {
				if !declared[match[1]] {
					found(x.path, i+1, "there is no %s", match[1])
				}
			}
		}
	}
}

// leadsTo reports whether a target exists, as seen from a document.
func (t *tree) leadsTo(from text, target string) bool {
	name, heading, _ := strings.Cut(target, "#")
	full := from.path
	if name != "" {
		full = path.Join(path.Dir(from.path), name)
	}
	for _, x := range t.texts {
		if x.path == full {
			return heading == "" || slices.ContainsFunc(x.lines, func(line string) bool {
				return strings.HasPrefix(line, "#") && anchor(line) == heading
			})
		}
	}
	return slices.ContainsFunc(t.texts, func(x text) bool { return strings.HasPrefix(x.path, full+"/") })
}

// anchor is the name that a heading has in a link.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, strings.TrimSpace(strings.TrimLeft(heading, "#")))
}
