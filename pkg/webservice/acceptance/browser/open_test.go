package browser

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

//go:embed testdata/open.js
var openScript string

const (
	refreshesInAll  = 600 // every two seconds
	refreshesAtOnce = 200 // as a call of the page has a limit in time
	// growsMax is the most MB. This cluster is small: a page of it grows by about 1,
	// and by 3.5 if it keeps every answer.
	growsMax = 2.4
)

// A moving stage goes on by two seconds whenever it is told to: nodes, queues, asks,
// points of use and events are then others.
type moving struct {
	*stage
	mu    sync.Mutex // one answer at a time, so that each is of one moment
	t     *testing.T
	rest  http.Handler
	book  *archive.Book
	first *api.View
	moves int64
}

func (s *stage) moving(t *testing.T) *moving {
	t.Helper()
	m := &moving{stage: s.apart(), t: t, first: s.view.Load()}
	past, err := archive.New(archive.Config{})
	assert.NilError(t, err)
	m.archive, m.book = past, past.Open(partition)
	m.history, err = events.NewHistory("moving", events.Config{})
	assert.NilError(t, err)
	m.rest = m.service(t).Handler()
	return m
}

func (m *moving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ws/v1/events/stream" { // it has no end
		m.rest.ServeHTTP(w, r)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/summary") && !strings.Contains(r.URL.RawQuery, "fields=kinds") {
		m.move() // the overview asks for it once in each refresh
	}
	w.Header().Set("Date", m.now.UTC().Format(http.TimeFormat))
	m.rest.ServeHTTP(w, r)
}

// move makes another view. What it says need not agree with itself: it is only drawn.
func (m *moving) move() {
	m.moves++
	m.now = m.now.Add(2 * time.Second)
	view := *m.first
	root := *view.Root
	root.Used, root.Queues = m.other(root.Used), slices.Clone(root.Queues)
	for i, q := range root.Queues {
		other := *q
		other.Used, other.Pending = m.other(q.Used), m.other(q.Pending)
		root.Queues[i] = &other
	}
	view.Root, view.Nodes, view.Applications = &root, slices.Clone(view.Nodes), slices.Clone(view.Applications)
	for i, n := range view.Nodes {
		if int64(i)%5 == m.moves%5 {
			other := *n
			other.Allocated = m.other(n.Allocated)
			view.Nodes[i] = &other
		}
	}
	for i, app := range view.Applications {
		if len(app.Asks) > 0 {
			other := *app
			other.Asks = app.Asks[:int64(len(app.Asks))-m.moves%int64(len(app.Asks))]
			view.Applications[i] = &other
		}
	}
	m.view.Store(&view)
	m.book.Sample(m.now, &view)
	m.history.Publish([]*si.EventRecord{{
		Type: si.EventRecord_APP, ObjectID: string(view.Applications[0].ID), ReferenceID: fmt.Sprintf("pod-%06d", m.moves),
		EventChangeType: si.EventRecord_ADD, EventChangeDetail: si.EventRecord_APP_ALLOC, TimestampNano: m.now.UnixNano(),
	}})
}

// other is amounts that are no more than they were, and others with each move.
func (m *moving) other(a resources.Amounts) resources.Amounts {
	out := slices.Clone(a)
	for i := range out {
		out[i] -= out[i] * (m.moves % 89) / 100
	}
	return out
}

// TestStaysOpen: a page that stays open for twenty minutes, while the cluster changes, does not grow.
func TestStaysOpen(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	t.Parallel()
	m := k8s.on(t).moving(t)
	server := httptest.NewServer(m)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	p := (&site{stage: m.stage, url: server.URL}).open(t, "#/overview", look{})
	p.allow("healthcheck") // the books of such a cluster are wrong
	p.arrives("overview")
	pass := func(refreshes int) time.Duration {
		return time.Duration(evaluate[float64](p, "return await ("+openScript+")(args[0])", refreshes)) * time.Millisecond
	}
	pass(60) // what is kept on purpose is there from then on
	before := p.heap()
	began := time.Now()
	var passed time.Duration
	for range refreshesInAll / refreshesAtOnce {
		passed += pass(refreshesAtOnce)
	}
	took, after := time.Since(began), p.heap()
	t.Logf("%v passed in %v: %.1f MB, and %.1f MB then; %d moves", passed, took, before, after, m.moves)
	assert.Assert(t, passed >= time.Hour/3-time.Second && m.moves >= refreshesInAll, "%v, %d moves", passed, m.moves)
	assert.Assert(t, after-before < growsMax, "%.1f MB became %.1f MB", before, after)
}

// heap is how much the page holds when nothing is left to collect, in MB: the least of some looks, since a refresh that is under way holds
// what it replaces too.
func (p *page) heap() float64 {
	p.t.Helper()
	least := p.heapNow()
	for range 4 {
		least = min(least, p.heapNow())
	}
	return least
}

func (p *page) heapNow() float64 {
	p.t.Helper()
	used := 0.0
	p.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		for range 2 {
			if _, err := chromedp.Call(ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
				return err
			}
		}
		usage, err := chromedp.Call(ctx, runtime.GetHeapUsage, cdp.Empty{})
		if err == nil {
			used = (usage.UsedSize + usage.EmbedderHeapUsedSize + usage.BackingStorageSize) / 1e6
		}
		return err
	}))
	return used
}
