package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// TestTopScreen goes from the queues to why a pod waits and back, as keys do.
func TestTopScreen(t *testing.T) {
	address, _ := running(t)
	c := &client.Client{Server: address}
	s := newTopScreen(place{})
	sees := func(at string) {
		t.Helper()
		got, err := s.at.look(context.Background(), c)
		s.show(got, err)
		assert.NilError(t, err)
		assert.Equal(t, s.at.String(), at)
	}
	press := func(key tcell.Key) {
		if event := tcell.NewEventKey(key, 0, tcell.ModNone); s.app.GetInputCapture()(event) != nil {
			s.table.InputHandler()(event, nil)
		}
	}
	sees("queues")
	assert.Equal(t, s.table.GetCell(1, 0).Text, "root")
	press(tcell.KeyEnter)
	sees("queues > root")
	assert.Equal(t, <-s.ask, s.at)
	for s.table.GetCell(s.row(), 0).Text != "agents-app" {
		press(tcell.KeyDown)
	}
	press(tcell.KeyEnter)
	sees("queues > root > agents-app")
	press(tcell.KeyEnter)
	sees("queues > root > agents-app > agent-1")
	front, _ := s.pages.GetFrontPage()
	assert.Equal(t, front, "text")
	s.show(screen{}, errors.New("away"))
	assert.Equal(t, s.foot.GetText(true), "queues > root > agents-app > agent-1 | away")
	for range 5 {
		press(tcell.KeyEscape)
	}
	sees("queues")
	front, _ = s.pages.GetFrontPage()
	assert.Equal(t, front, "table")
}

func (t *topScreen) row() int {
	row, _ := t.table.GetSelection()
	return row
}

// TestOneScreen: of ten screens of queues one is printed, with those first that lack something, and then those where something waits.
func TestOneScreen(t *testing.T) {
	root := &client.Queue{Name: "root"}
	for i := range 10 * onceMax {
		root.Children = append(root.Children, &client.Queue{Name: fmt.Sprint("root.q", i), Apps: 1})
	}
	root.Children[200].Pending = client.Amounts{"vcore": 1000}
	root.Children[300].Pending, root.Children[300].States = client.Amounts{"vcore": 1000}, map[string]string{"vcore": "under and waiting"}
	s := screen{table: &client.Table{Headings: []string{"QUEUE", "APPS", "USES", "WAITS FOR", "STATE"}}}
	s.addQueue(root)
	var out bytes.Buffer
	assert.NilError(t, s.page(place{}).table(&out, client.Layout{}))
	lines := strings.Split(out.String(), "\n")
	assert.Equal(t, len(lines), onceMax+5)
	assert.Assert(t, strings.HasPrefix(lines[2], "root.q300") && strings.HasSuffix(lines[2], "under and waiting in cpu"), lines[2])
	assert.Assert(t, strings.HasPrefix(lines[3], "root.q200"), lines[3])
	assert.DeepEqual(t, strings.Fields(lines[4])[:2], []string{"root", "400"})
	assert.Equal(t, lines[onceMax+3], `361 more queues are not shown; "narwhal queues" shows all.`)
}

// TestDays: a day, or the beginning of one.
func TestDays(t *testing.T) {
	for _, day := range []string{"2026-01-31", "2026-*", "2026-1*", "2026-0*", "2026-01-3*", "2026-11-0*", "20*", "*"} {
		assert.Assert(t, isDay(day), day)
	}
	for _, day := range []string{"nonsense", "2026", "2026-13-01", "2026-02-30", "today*", "2026-01-31**", "2026-2*"} {
		assert.Assert(t, !isDay(day), day)
	}
}

// TestTopSaysWhatIsCut: of ten times as many rows as a screen has at most, it asks for so many, and says how many more there are.
func TestTopSaysWhatIsCut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		assert.Check(t, err)
		w.Header().Set("X-Total-Count", strconv.Itoa(10*topMax))
		_, err = fmt.Fprint(w, "[", strings.TrimSuffix(strings.Repeat(`{"applicationID": "a", "allocationKey": "k"},`, limit), ","), "]")
		assert.Check(t, err)
	}))
	defer server.Close()
	for _, at := range []place{{queue: "root.a"}, {queue: "root.a", application: "a"}} {
		s, err := at.look(context.Background(), &client.Client{Server: server.URL})
		assert.NilError(t, err)
		assert.Equal(t, len(s.table.Rows), 500)
		var out bytes.Buffer
		assert.NilError(t, s.page(at).table(&out, client.Layout{}))
		assert.Assert(t, strings.Contains(out.String(), "\n4500 more "), out.String()[len(out.String())-200:])
		live := newTopScreen(at)
		live.show(s, nil)
		assert.Assert(t, strings.Contains(live.foot.GetText(true), "| 4500 more are not shown |"), live.foot.GetText(true))
	}
}
