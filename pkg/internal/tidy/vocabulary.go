package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// people are words for persons. Pods, nodes, asks, readers and callers are things:
// which, that, it.
var people = []string{
	"anybody", "anyone", "everybody", "everyone", "nobody", "somebody", "someone", "who", "whoever", "whom",
}

// privateWords have a standard word in this field. They may be in no name and no
// text.
var privateWords = map[string]string{
	"carve":     "take",
	"chronicle": "recorder",
	"courier":   "dispatcher",
	"delist":    "remove",
	"enlist":    "add",
	"entitle":   "guarantee",
	"forgo":     "subtract pending",
	"gallery":   "view cache",
	"gentle":    "less important",
	"gentler":   "less important",
	"gentlest":  "least important",
	"glance":    "snapshot",
	"homeless":  "of an unknown node",
	"hungry":    "queued",
	"hunt":      "preemption attempt",
	"hunted":    "attempted",
	"hunter":    "ask",
	"hunting":   "preemption attempt",
	"hunts":     "preemption attempts",
	"lighten":   "improve",
	"lookers":   "readers",
	"nought":    "zero",
	"prey":      "victims",
	"quarry":    "node as input of the preemptor",
	"rehearsal": "dry run",
	"rouse":     "requeue",
	"scribe":    "recorder",
	"sift":      "filter",
	"story":     "scenario",
	"stories":   "scenarios",
	"stranded":  "waiting for a node",
	"unpromise": "subtract nominated",
	"uproot":    "remove",
	"verdict":   "summary, result",
}

// privateNames have a standard word too. They are common words of English, so they
// are allowed in texts, but not as a part of a name in code.
var privateNames = map[string]string{
	"agenda":   "event queue",
	"alarm":    "timer",
	"alarms":   "timers",
	"aside":    "unschedulable",
	"chase":    "attempt state",
	"consult":  "check predicates",
	"desk":     "single flight",
	"eager":    "active",
	"fate":     "outcome",
	"fleeting": "volatile",
	"foresee":  "request",
	"forgive":  "clear",
	"going":    "eviction",
	"goings":   "evictions",
	"ground":   "node cost cache",
	"hope":     "schedulable",
	"house":    "server",
	"looker":   "reader",
	"packers":  "gzip pool",
	"payer":    "read cost",
	"picture":  "view",
	"pot":      "pool",
	"prospect": "node cost",
	"readmit":  "retry",
	"relieved": "node freed",
	"shape":    "class",
	"shapes":   "classes",
	"spent":    "usage",
	"stuck":    "overdue",
	"tolerate": "allow overcommit",
	"trail":    "change log",
	"vain":     "failed",
}

// allowances are the places where a listed word is the right one.
var allowances = []struct{ in, word string }{
	{in: "pkg/internal/tidy/vocabulary.go"},
	{in: "pkg/internal/tidy/vocabulary_test.go"},
	{in: "pkg/simulator/report/", word: "shape"},            // of a plot
	{in: "pkg/scheduler/*applications*.go", word: "nobody"}, // a user of Unix
	{in: "pkg/kubernetes/pods/*.go", word: "nobody"},        // a user of Unix
	{in: "docs/kubernetes.md", word: "nobody"},              // a user of Unix
	{in: "LICENSE"},
}

// proseFiles are the texts in which words are looked for, by extension; Go files
// have rules of their own.
var proseFiles = []string{".css", ".golden", ".html", ".js", ".json", ".md", ".txt", ".yaml", ".yml"}

var plainWord = regexp.MustCompile(`[A-Za-z]+`)

func wordsInTexts(x text, found report) {
	if !slices.Contains(proseFiles, path.Ext(x.path)) {
		return
	}
	for i, line := range x.lines {
		reportProse(x.path, i+1, line, found)
	}
}

// namesInGo looks at names, comments, and the texts of programs that are no tests.
func namesInGo(f file, found report) {
	if !f.written {
		return
	}
	reportNames(f, found)
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			for i, line := range strings.Split(comment.Text, "\n") {
				reportProse(f.path, f.line(comment)+i, line, found)
			}
		}
	}
	if f.test {
		return
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			reportProse(f.path, f.line(n), literal.Value, found)
		}
		return true
	})
}

// reportNames reports each private word in a name once for each file.
func reportNames(f file, found report) {
	seen := make(map[string]bool)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || seen[id.Name] {
			return true
		}
		seen[id.Name] = true
		for _, word := range partsOf(id.Name) {
			instead, private := privateWords[word]
			if !private {
				instead, private = privateNames[word]
			}
			if private && !allowed(f.path, word) {
				found(f.path, f.line(id), "%s: say %s for %s", id.Name, instead, word)
			}
		}
		return true
	})
}

// partsOf splits a name at its capitals, in lower case.
func partsOf(name string) []string {
	var parts []string
	start := 0
	runes := []rune(name)
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]) ||
			unicode.IsUpper(runes[i]) && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			parts = append(parts, strings.ToLower(string(runes[start:i])))
			start = i
		}
	}
	return parts
}

func reportProse(in string, line int, prose string, found report) {
	for _, word := range plainWord.FindAllString(prose, -1) {
		word = strings.ToLower(word)
		instead, private := privateWords[word]
		person := slices.Contains(people, word)
		switch {
		case !private && !person || allowed(in, word):
		case person:
			found(in, line, "%q: things are which, that, it", word)
		default:
			found(in, line, "say %s for %s", instead, word)
		}
	}
}

func allowed(in, word string) bool {
	for _, a := range allowances {
		if (a.word == "" || a.word == word) && covers(a.in, in) {
			return true
		}
	}
	return false
}

// covers reports whether a path matches a pattern, or is below it if that ends in
// a slash.
func covers(pattern, in string) bool {
	matched, _ := path.Match(pattern, in) // patterns are ours
	return matched || strings.HasSuffix(pattern, "/") && strings.HasPrefix(in, pattern)
}

// internalIdentifier is an entry of a list that readers of this repository do not
// have.
var internalIdentifier = regexp.MustCompile(`\b(S[0-9]{2}|[SWD]-[0-9]{1,2}|W[0-9]{2})\b`)

func identifiersInTexts(x text, found report) {
	if ext := path.Ext(x.path); ext != ".md" && ext != ".txt" && ext != ".yaml" {
		return
	}
	for i, line := range x.lines {
		if id := internalIdentifier.FindString(line); id != "" {
			found(x.path, i+1, "%s means nothing to a reader", id)
		}
	}
}

func identifiersInGo(f file, found report) {
	if allowed(f.path, "") {
		return
	}
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			if id := internalIdentifier.FindString(comment.Text); id != "" {
				found(f.path, f.line(comment), "%s means nothing to a reader", id)
			}
		}
	}
}
