// Package query is what the query of a request asks of an answer: which fields of objects
// and, of a list, which elements of it, from where on, how many and in which order.
//
// Read in this order:
//
//	query.go   lists, pages and filters
//	sort.go    the order
package query

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// ItemsMax is the most that limit and offset may be.
const ItemsMax = math.MaxInt32

// A Selection is a value of which only some fields are written and, if it is a
// list, only some elements are there.
type Selection struct {
	value  any      // a lazyList, or a pointer to a struct
	fields []string // nil is all
	total  int      // of a list, before limit and offset
	paged  bool     // it is a list
	offset int
	limit  int // zero without one
	order  order
	counts map[string]int // nil if the query does not ask for them

	AsOf time.Time // of the elements; zero if that is the time of the answer
}

// A Filter is a query parameter that picks elements.
type Filter[S any] struct {
	name string
	test func(value string) (func(S) bool, error) // of a value that is not empty
	word func(S) string                           // of an element, if the parameter count may name this filter; else nil
}

// Parameters are those of the query, each given at most once.
type Parameters url.Values

// Read reads the query of a request.
func Read(r *http.Request) (Parameters, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, failure.Bad("Query cannot be read: %v", err)
	}
	return Parameters(values), nil
}

// One is the value of a parameter and whether it was given. An empty one is an
// error, and so is one that was given twice.
func (p Parameters) One(name string) (string, bool, error) {
	values := p[name]
	switch {
	case len(values) == 0:
		return "", false, nil
	case len(values) > 1:
		return "", false, failure.Bad("Parameter %s is given %d times", name, len(values))
	case values[0] == "":
		return "", false, failure.Bad("Parameter %s is empty", name)
	}
	return values[0], true, nil
}

// number is the value of a parameter that is a whole number from least on.
func (p Parameters) number(name string, least, fallback int) (int, error) {
	value, given, err := p.One(name)
	if err != nil || !given {
		return fallback, err
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n < uint64(least) || n > ItemsMax {
		return 0, failure.Bad("Parameter %s is %.40q: a whole number from %d to %d is needed", name, value, least, ItemsMax)
	}
	return int(n), nil
}

// fields is which fields of a struct are wanted, in its own order; nil is all.
func (p Parameters) fields(of reflect.Type) ([]string, error) {
	value, given, err := p.One("fields")
	if err != nil || !given {
		return nil, err
	}
	all, wanted := encoder.FieldsOf(of), strings.Split(value, ",")
	for _, name := range wanted {
		if !slices.Contains(all, name) {
			return nil, failure.Bad("Parameter fields names %.40q, which is no field; there are: %s", name, strings.Join(all, ", "))
		}
	}
	return slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(wanted, name) }), nil
}

// Wanted reports whether the query asks for a field, or for all.
func Wanted(r *http.Request, field string) bool {
	values := r.URL.Query()["fields"]
	return len(values) == 0 || slices.Contains(strings.Split(values[0], ","), field)
}

// PageOf is the parameters of a request, and what they ask of a list of T: the
// selection without its elements.
func PageOf[T any](r *http.Request) (Parameters, *Selection, error) {
	p, err := Read(r)
	if err != nil {
		return nil, nil, err
	}
	page, err := p.page(reflect.TypeFor[T]())
	return p, page, err
}

func (p Parameters) page(of reflect.Type) (*Selection, error) {
	fields, err := p.fields(of)
	if err != nil {
		return nil, err
	}
	offset, err := p.number("offset", 0, 0)
	if err != nil {
		return nil, err
	}
	limit, err := p.number("limit", 1, 0)
	if err != nil {
		return nil, err
	}
	order, err := p.sort(of)
	if err != nil {
		return nil, err
	}
	return &Selection{fields: fields, paged: true, offset: offset, limit: limit, order: order}, nil
}

// List answers with what fill makes of the elements that the query asks for.
func List[S, T any](r *http.Request, kinds *resources.Kinds, all []S, fill func(S, *T), filters ...Filter[S]) (any, error) {
	p, page, err := PageOf[T](r)
	if err != nil {
		return nil, err
	}
	by, err := counts(all, p, filters)
	if err != nil {
		return nil, err
	}
	if all, err = Pick(all, p, filters); err != nil {
		return nil, err
	}
	if all, err = Sort(page, kinds, all, fill); err != nil {
		return nil, err
	}
	page.Show(encoder.Each(Cut(page, all), fill), len(all), by)
	return page, nil
}

// Cut is the elements of a page, of all that there are.
func Cut[S any](page *Selection, all []S) []S {
	offset, limit := page.Bounds()
	all = all[min(offset, len(all)):]
	return all[:min(limit, len(all))]
}

// Bounds is where a page begins, and how many elements it has at most.
func (s *Selection) Bounds() (offset, limit int) { return s.offset, cmp.Or(s.limit, ItemsMax) }

// SortedBy is the field by which the query sorts; empty if it does not.
func (s *Selection) SortedBy() string { return s.order.name }

// Show makes a page answer with its elements: those of so many in all. Counts are nil if
// the query does not ask for them.
func (s *Selection) Show(elements encoder.List, total int, counts map[string]int) {
	s.value, s.total, s.counts = elements, total, counts
}

// Pick is the elements that pass all filters of the query.
func Pick[S any](all []S, p Parameters, filters []Filter[S]) ([]S, error) {
	test, err := Test(p, filters)
	if err != nil || test == nil {
		return all, err
	}
	var picked []S
	for _, element := range all {
		if test(element) {
			picked = append(picked, element)
		}
	}
	return picked, nil
}

// Test is whether an element passes all filters of the query; nil if it has none.
func Test[S any](p Parameters, filters []Filter[S]) (func(S) bool, error) {
	var tests []func(S) bool
	for _, f := range filters {
		value, given, err := p.One(f.name)
		if err != nil {
			return nil, err
		}
		if !given {
			continue
		}
		test, err := f.test(value)
		if err != nil {
			return nil, err
		}
		tests = append(tests, test)
	}
	if tests == nil {
		return nil, nil
	}
	return func(element S) bool {
		return !slices.ContainsFunc(tests, func(test func(S) bool) bool { return !test(element) })
	}, nil
}

// counts is how many elements have each word of the filter that the parameter count
// names. All other filters hold, and that one does not, as a page shows its words to
// choose from. It is nil if no filter of the list can be counted.
func counts[S any](all []S, p Parameters, filters []Filter[S]) (map[string]int, error) {
	var names []string
	for _, f := range filters {
		if f.word != nil {
			names = append(names, f.name)
		}
	}
	if names == nil {
		return nil, nil
	}
	name, given, err := p.CountOf(names...)
	if err != nil || !given {
		return nil, err
	}
	at := slices.IndexFunc(filters, func(f Filter[S]) bool { return f.name == name })
	all, err = Pick(all, p, slices.Concat(filters[:at], filters[at+1:]))
	out := map[string]int{}
	for _, element := range all {
		out[filters[at].word(element)]++
	}
	return out, err
}

// CountOf is the parameter count, which names one of some filters.
func (p Parameters) CountOf(names ...string) (string, bool, error) {
	name, given, err := p.One("count")
	if given {
		err = OneOf("count", name, names)
	}
	return name, given, err
}

// OneOf is an error if the value of a parameter is none of some words.
func OneOf(name, value string, words []string) error {
	if !slices.Contains(words, value) {
		return failure.Bad("Parameter %s is %.40q: one of %s is needed", name, value, strings.Join(words, ", "))
	}
	return nil
}

// One answers with the fields of one object, a pointer to a struct, that the query
// asks for.
func One[T any](r *http.Request, value *T) (any, error) {
	p, err := Read(r)
	if err != nil {
		return nil, err
	}
	fields, err := p.fields(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	return &Selection{value: value, fields: fields}, nil
}

// Encode writes what was chosen.
func (s *Selection) Encode(e *encoder.Encoder) {
	e.Choose(s.value, s.fields)
}

// Describe says in the head how much there is and where it goes on.
func (s *Selection) Describe(head http.Header, at *url.URL) {
	if !s.paged {
		return
	}
	head.Set("X-Total-Count", strconv.Itoa(s.total))
	if !s.AsOf.IsZero() {
		head.Set("Last-Modified", s.AsOf.UTC().Format(http.TimeFormat))
	}
	if s.counts != nil {
		head.Set("X-Counts", s.CountsText())
	}
	if s.limit == 0 || s.total-s.offset <= s.limit {
		return
	}
	query := at.Query()
	query.Set("offset", strconv.Itoa(s.offset+s.limit))
	head.Set("Link", "<"+at.EscapedPath()+"?"+query.Encode()+`>; rel="next"`)
}

// CountsText is the counts as a JSON object, or empty without any. The words are those of
// the program, so they may stand in a head.
func (s *Selection) CountsText() string {
	if s.counts == nil {
		return ""
	}
	text, err := json.Marshal(s.counts) // in the order of the words
	if err != nil {
		panic("webservice: " + err.Error()) // a map of numbers can be written
	}
	return string(text)
}

// By is the filter whose test is made of the value, which is not empty.
func By[S any](name string, test func(value string) (func(S) bool, error)) Filter[S] {
	return Filter[S]{name: name, test: test}
}

// Texts is the filter for elements that have a certain text. A value that ends
// with * stands for everything that begins with what is before it.
func Texts[S any, V ~string](name string, of func(S) V) Filter[S] {
	return Filter[S]{name: name, test: func(value string) (func(S) bool, error) {
		matches := TextMatch(value)
		return func(element S) bool { return matches(string(of(element))) }, nil
	}}
}

// Words is texts for a field that has one of a few words. A value that stands for none of
// them is an error.
func Words[S any](name string, words []string, of func(S) string) Filter[S] {
	return Filter[S]{name: name, test: func(value string) (func(S) bool, error) {
		matches := TextMatch(value)
		if !slices.ContainsFunc(words, matches) {
			return nil, OneOf(name, value, words)
		}
		return func(element S) bool { return matches(of(element)) }, nil
	}}
}

// CountedWords is words that can be counted.
func CountedWords[S any](name string, words []string, of func(S) string) Filter[S] {
	f := Words(name, words, of)
	f.word = of
	return f
}

// WordsOf are the texts of the first n values of a type, which are all that there are.
func WordsOf[V interface {
	~uint8
	String() string
}](n V) []string {
	words := make([]string, n)
	for v := range n {
		words[v] = v.String()
	}
	return words
}

// TextMatch is whether a text is a value, or begins as one that ends with *.
func TextMatch(value string) func(string) bool {
	if prefix, ok := strings.CutSuffix(value, "*"); ok {
		return func(text string) bool { return strings.HasPrefix(text, prefix) }
	}
	return func(text string) bool { return text == value }
}

// Truth is the filter for elements of which something is true, or is not.
func Truth[S any](name string, of func(S) bool) Filter[S] {
	return Filter[S]{name: name, test: func(value string) (func(S) bool, error) {
		if value != "true" && value != "false" {
			return nil, failure.Bad("Parameter %s is %.40q: true or false is needed", name, value)
		}
		return func(element S) bool { return of(element) == (value == "true") }, nil
	}}
}
