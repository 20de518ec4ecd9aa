package object

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// A pendingAsk is an ask that waits, and its application.
type pendingAsk struct {
	*api.AskView
	of *api.ApplicationView
}

// Asks answers GET /ws/v1/partition/{partition}/asks: all that wait, by queue, then
// by application, then in the order in which those of an application are tried. A
// page costs a look at the asks and not their JSON.
func Asks(at *Snapshot, r *http.Request) (any, error) {
	p, page, err := query.PageOf[askJSON](r)
	if err != nil {
		return nil, err
	}
	apps, err := query.Pick(byQueue(at.Applications), p, []query.Filter[*api.ApplicationView]{
		query.Texts("application", func(a *api.ApplicationView) api.ApplicationID { return a.ID }),
		query.Texts("user", func(a *api.ApplicationView) string { return a.User }),
		InQueue(func(a *api.ApplicationView) api.QueuePath { return a.Queue }),
		query.By("guaranteeState", at.guaranteeStateTest),
	})
	if err != nil {
		return nil, err
	}
	test, err := query.Test(p, askFilters())
	if err != nil {
		return nil, err
	}
	counts, err := countAsks(apps, p)
	if err != nil {
		return nil, err
	}
	fill := func(one pendingAsk, to *askJSON) {
		at.fillAsk(*one.AskView, to)
		to.QueueName, to.User = one.of.Queue, one.of.User
	}
	offset, limit := page.Bounds()
	field := page.SortedBy()
	if field != "" { // all are needed to know which come first
		offset, limit = 0, query.ItemsMax
	}
	found, total := pageOfAsks(apps, test, offset, limit)
	compared := fill
	if !slices.Contains(toldAsks, field) {
		compared = func(one pendingAsk, to *askJSON) {
			fillAskLean(*one.AskView, at.kinds, to)
			to.QueueName, to.User = one.of.Queue, one.of.User
		}
	}
	if found, err = query.Sort(page, at.kinds, found, compared); err != nil {
		return nil, err
	}
	if field != "" {
		found = query.Cut(page, found)
	}
	page.Show(encoder.Each(found, fill), total, counts)
	return page, nil
}

// byQueue is applications that are sorted by ID, sorted by queue before.
func byQueue(all []*api.ApplicationView) []*api.ApplicationView {
	groups := map[api.QueuePath][]*api.ApplicationView{}
	var paths []api.QueuePath
	for _, app := range all {
		if len(app.Asks) == 0 {
			continue
		}
		if groups[app.Queue] == nil {
			paths = append(paths, app.Queue)
		}
		groups[app.Queue] = append(groups[app.Queue], app)
	}
	slices.Sort(paths)
	var out []*api.ApplicationView
	for _, path := range paths {
		out = append(out, groups[path]...)
	}
	return out
}

// askFilters are about the asks themselves. Why is the first of them.
func askFilters() []query.Filter[*api.AskView] {
	return []query.Filter[*api.AskView]{
		query.Words("why", query.WordsOf(api.Reasons), func(a *api.AskView) string { return a.Reason.String() }),
		query.By("node", askNodeTest),
		query.By("priority", priorityTest),
		query.By("class", askClassTest),
	}
}

// countAsks is how many asks wait for each reason, if the query asks for that. All
// filters but the one of the reason hold.
func countAsks(apps []*api.ApplicationView, p query.Parameters) (map[string]int, error) {
	_, given, err := p.CountOf("why")
	if err != nil || !given {
		return nil, err
	}
	test, err := query.Test(p, askFilters()[1:])
	if err != nil {
		return nil, err
	}
	by := map[api.Reason]int{} // there may be very many asks: their words are made at the end
	for _, app := range apps {
		for i := range app.Asks {
			if test == nil || test(&app.Asks[i]) {
				by[app.Asks[i].Reason]++
			}
		}
	}
	out := map[string]int{}
	for reason, n := range by {
		out[reason.String()] = n
	}
	return out, nil
}

// askNodeTest picks asks that get room on a node.
func askNodeTest(value string) (func(*api.AskView) bool, error) {
	near := query.TextMatch(value)
	return func(a *api.AskView) bool {
		return a.Nominated != "" && near(string(a.Nominated)) || a.Reserved != "" && near(string(a.Reserved))
	}, nil
}

func priorityTest(value string) (func(*api.AskView) bool, error) {
	priority, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return nil, failure.Bad("Parameter priority is %.40q: a whole number is needed", value)
	}
	return func(a *api.AskView) bool { return int64(a.Priority) == priority }, nil
}

// pageOfAsks is the asks of a page, and how many there are in all. Only those of
// applications that are on the page are put in order.
func pageOfAsks(apps []*api.ApplicationView, test func(*api.AskView) bool, offset, limit int) (page []pendingAsk, total int) {
	for _, app := range apps {
		n := len(app.Asks)
		if test != nil {
			n = 0
			for i := range app.Asks {
				if test(&app.Asks[i]) {
					n++
				}
			}
		}
		if from, missing := max(offset-total, 0), limit-len(page); from < n && missing > 0 {
			first := firstAsks(app.Asks, test, min(from+missing, n))
			for _, ask := range first[from:] {
				page = append(page, pendingAsk{ask, app})
			}
		}
		total += n
	}
	return page, total
}

// firstAsks is the first n asks in order. What comes after them is put in no
// order, as there may be many more.
func firstAsks(asks []api.AskView, test func(*api.AskView) bool, n int) []*api.AskView {
	var best []*api.AskView
	var last *api.AskView // of the n best so far
	for i := range asks {
		ask := &asks[i]
		if test != nil && !test(ask) || last != nil && ask.InOrder(last) >= 0 {
			continue
		}
		if best = append(best, ask); len(best) >= 2*n {
			slices.SortFunc(best, (*api.AskView).InOrder)
			best, last = best[:n], best[n-1]
		}
	}
	slices.SortFunc(best, (*api.AskView).InOrder)
	return best[:min(n, len(best))]
}
