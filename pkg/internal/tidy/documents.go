package tidy

import (
	"path"
	"strings"
)

// Budgets of the documents. A sentence that comes pushes one out.
const (
	wordsOfDocument  = 3500
	wordsOfDocuments = 30_000
)

// documentLength counts the words of the documents as wc does: of the first page, the changes, and what is in docs and
// docs/internals. Examples are none: they stand beside what they show.
func documentLength(t *tree, found report) {
	total := 0
	for _, x := range t.texts {
		dir := path.Dir(x.path)
		if path.Ext(x.path) != ".md" || dir != "." && dir != "docs" && dir != "docs/internals" {
			continue
		}
		words := 0
		for _, line := range x.lines {
			words += len(strings.Fields(line))
		}
		if words > wordsOfDocument {
			found(x.path, 0, "%d words, more than %d", words, wordsOfDocument)
		}
		total += words
	}
	if total > wordsOfDocuments {
		found("docs", 0, "%d words in all documents, more than %d", total, wordsOfDocuments)
	}
}
