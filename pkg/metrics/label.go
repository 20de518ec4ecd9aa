package metrics

import (
	"fmt"
	"strings"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
)

// label makes a label. Series share labels, so it must not be changed.
func label(name, value string) *dto.LabelPair {
	value = valid(value)
	return &dto.LabelPair{Name: &name, Value: &value}
}

// labelled makes labels of one name.
func labelled(name string, values []string) []*dto.LabelPair {
	labels := make([]*dto.LabelPair, len(values))
	for i, value := range values {
		labels[i] = label(name, value)
	}
	return labels
}

// named makes labels of the texts of 0 to n-1.
func named[T ~uint8](name string, n int, text func(T) string) []*dto.LabelPair {
	values := make([]string, n)
	for i := range values {
		values[i] = snake(text(T(i)))
	}
	return labelled(name, values)
}

// snake is a text in the way of label values that have a fixed choice.
func snake(text string) string {
	return strings.ReplaceAll(strings.ToLower(text), " ", "_")
}

// valid is a text as a label value, which must be UTF-8. Bytes that are none are
// spelled out, because replacing them would make different names the same, and
// two equal series spoil a scrape.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, text[0])
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}
