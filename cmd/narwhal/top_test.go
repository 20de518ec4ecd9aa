package main

import (
	"context"
	"errors"
	"testing"
	"time"

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
		got, err := s.at.look(context.Background(), c, time.Now())
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
