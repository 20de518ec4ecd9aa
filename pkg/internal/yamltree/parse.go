package yamltree

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A SyntaxError is why a text is not YAML.
type SyntaxError struct {
	Line int // from 1; zero where the parser names none
	Text string
}

func (e *SyntaxError) Error() string { return e.Text }

// Parse reads a text that holds one document. Both nodes are nil if there is no
// value in it; second is what begins another document, nil if there is none. The
// error is a *SyntaxError.
func Parse(text string) (root, second *yaml.Node, err error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var documents [2]yaml.Node
	for i := range documents {
		switch err := decoder.Decode(&documents[i]); {
		case errors.Is(err, io.EOF):
			return root, nil, nil
		case err != nil:
			return nil, nil, syntaxError(err)
		case i == 0:
			root = documents[i].Content[0]
		}
	}
	return root, &documents[1], nil
}

// lineOfError is how the YAML parser begins an error.
var lineOfError = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`)

func syntaxError(err error) *SyntaxError {
	text := err.Error()
	found := lineOfError.FindStringSubmatch(text)
	if found == nil {
		return &SyntaxError{Text: text}
	}
	line, err := strconv.Atoi(found[1])
	if err != nil {
		line = 0
	}
	return &SyntaxError{Line: line, Text: text[len(found[0]):]}
}
