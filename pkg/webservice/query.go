package webservice

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// itemsMax is the most that limit and offset may be.
const itemsMax = math.MaxInt32

// A selection is a value of which only some fields are written and, if it is a
// list, only some elements are there.
type selection struct {
	value  any      // a lazyList, or a pointer to a struct
	fields []string // nil is all
	total  int      // of a list, before limit and offset
	paged  bool     // it is a list
	offset int
	limit  int // zero without one
	order  order
	counts map[string]int // nil if the query does not ask for them
}

// A filter is a query parameter that picks elements. Test makes a test of the
// value, which is not empty.
type filter[S any] struct {
	name string
	test func(value string) (func(S) bool, error)
	word func(S) string // of an element, if the parameter count may name this filter; else nil
}

// parameters are those of the query, each given at most once.
type parameters url.Values

func parametersOf(r *http.Request) (parameters, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, failure.Bad("Query cannot be read: %v", err)
	}
	return parameters(values), nil
}

// one is the value of a parameter and whether it was given. An empty one is an
// error, and so is one that was given twice.
func (p parameters) one(name string) (string, bool, error) {
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
func (p parameters) number(name string, least, fallback int) (int, error) {
	value, given, err := p.one(name)
	if err != nil || !given {
		return fallback, err
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n < uint64(least) || n > itemsMax {
		return 0, failure.Bad("Parameter %s is %.40q: a whole number from %d to %d is needed", name, value, least, itemsMax)
	}
	return int(n), nil
}

// fields is which fields of a struct are wanted, in its own order; nil is all.
func (p parameters) fields(of reflect.Type) ([]string, error) {
	value, given, err := p.one("fields")
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

// wanted reports whether the query asks for a field, or for all.
func wanted(r *http.Request, field string) bool {
	values := r.URL.Query()["fields"]
	return len(values) == 0 || slices.Contains(strings.Split(values[0], ","), field)
}

// pageOf is the parameters of a request, and what they ask of a list of T: the
// selection without its elements.
func pageOf[T any](r *http.Request) (parameters, *selection, error) {
	p, err := parametersOf(r)
	if err != nil {
		return nil, nil, err
	}
	page, err := p.page(reflect.TypeFor[T]())
	return p, page, err
}

func (p parameters) page(of reflect.Type) (*selection, error) {
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
	return &selection{fields: fields, paged: true, offset: offset, limit: limit, order: order}, nil
}

// list answers with what fill makes of the elements that the query asks for.
func list[S, T any](r *http.Request, kinds *resources.Kinds, all []S, fill func(S, *T), filters ...filter[S]) (any, error) {
	p, page, err := pageOf[T](r)
	if err != nil {
		return nil, err
	}
	if page.counts, err = counts(all, p, filters); err != nil {
		return nil, err
	}
	if all, err = pick(all, p, filters); err != nil {
		return nil, err
	}
	if all, err = sorted(page.order, kinds, all, fill); err != nil {
		return nil, err
	}
	page.total = len(all)
	all = all[min(page.offset, page.total):]
	if page.limit > 0 {
		all = all[:min(page.limit, len(all))]
	}
	page.value = encoder.Each(all, fill)
	return page, nil
}

// pick is the elements that pass all filters of the query.
func pick[S any](all []S, p parameters, filters []filter[S]) ([]S, error) {
	test, err := testOf(p, filters)
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

// testOf is whether an element passes all filters of the query; nil if it has none.
func testOf[S any](p parameters, filters []filter[S]) (func(S) bool, error) {
	var tests []func(S) bool
	for _, f := range filters {
		value, given, err := p.one(f.name)
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
func counts[S any](all []S, p parameters, filters []filter[S]) (map[string]int, error) {
	var names []string
	for _, f := range filters {
		if f.word != nil {
			names = append(names, f.name)
		}
	}
	if names == nil {
		return nil, nil
	}
	name, given, err := p.countOf(names...)
	if err != nil || !given {
		return nil, err
	}
	at := slices.IndexFunc(filters, func(f filter[S]) bool { return f.name == name })
	all, err = pick(all, p, slices.Concat(filters[:at], filters[at+1:]))
	out := map[string]int{}
	for _, element := range all {
		out[filters[at].word(element)]++
	}
	return out, err
}

// countOf is the parameter count, which names one of some filters.
func (p parameters) countOf(names ...string) (string, bool, error) {
	name, given, err := p.one("count")
	if given && !slices.Contains(names, name) {
		return "", false, failure.Bad("Parameter count is %.40q: one of %s is needed", name, strings.Join(names, ", "))
	}
	return name, given, err
}

// one answers with the fields of one object, a pointer to a struct, that the query
// asks for.
func one[T any](r *http.Request, value *T) (any, error) {
	p, err := parametersOf(r)
	if err != nil {
		return nil, err
	}
	fields, err := p.fields(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	return &selection{value: value, fields: fields}, nil
}

// Encode writes what was chosen.
func (s *selection) Encode(e *encoder.Encoder) {
	e.Choose(s.value, s.fields)
}

// describe says in the head how much there is and where it goes on.
func (s *selection) describe(head http.Header, at *url.URL) {
	if !s.paged {
		return
	}
	head.Set("X-Total-Count", strconv.Itoa(s.total))
	if s.counts != nil {
		head.Set("X-Counts", s.countsText())
	}
	if s.limit == 0 || s.total-s.offset <= s.limit {
		return
	}
	query := at.Query()
	query.Set("offset", strconv.Itoa(s.offset+s.limit))
	head.Set("Link", "<"+at.EscapedPath()+"?"+query.Encode()+`>; rel="next"`)
}

// countsText is the counts as a JSON object, or empty without any. The words are those of
// the program, so they may stand in a head.
func (s *selection) countsText() string {
	if s.counts == nil {
		return ""
	}
	text, err := json.Marshal(s.counts) // in the order of the words
	if err != nil {
		panic("webservice: " + err.Error()) // a map of numbers can be written
	}
	return string(text)
}

// The tests that filters make.

// texts is the filter for elements that have a certain text. A value that ends
// with * stands for everything that begins with what is before it.
func texts[S any, V ~string](name string, of func(S) V) filter[S] {
	return filter[S]{name: name, test: func(value string) (func(S) bool, error) {
		matches := textMatch(value)
		return func(element S) bool { return matches(string(of(element))) }, nil
	}}
}

// words is texts for a field that has one of a few words, which can be counted.
func words[S any](name string, of func(S) string) filter[S] {
	f := texts(name, of)
	f.word = of
	return f
}

func textMatch(value string) func(string) bool {
	if prefix, ok := strings.CutSuffix(value, "*"); ok {
		return func(text string) bool { return strings.HasPrefix(text, prefix) }
	}
	return func(text string) bool { return text == value }
}

// truth is the filter for elements of which something is true, or is not.
func truth[S any](name string, of func(S) bool) filter[S] {
	return filter[S]{name: name, test: func(value string) (func(S) bool, error) {
		if value != "true" && value != "false" {
			return nil, failure.Bad("Parameter %s is %.40q: true or false is needed", name, value)
		}
		return func(element S) bool { return of(element) == (value == "true") }, nil
	}}
}
