package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// A topScreen is the terminal while it is watched. All but ask belongs to the goroutine of the application.
type topScreen struct {
	app   *tview.Application
	table *tview.Table
	text  *tview.TextView
	foot  *tview.TextView
	pages *tview.Pages
	at    place
	shown screen
	ask   chan place // what is to be looked at next
}

// watchTop shows a cluster until q is pressed or the context ends.
func watchTop(ctx context.Context, c *client.Client, at place, interval time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := newTopScreen(at)
	go t.read(ctx, c, at, interval)
	context.AfterFunc(ctx, t.app.Stop)
	err := t.app.Run()
	if errors.As(err, new(*fs.PathError)) {
		return &usageError{errors.New("there is no terminal to show it on; --once prints one screen and ends")}
	}
	return err
}

func newTopScreen(at place) *topScreen {
	t := &topScreen{
		app: tview.NewApplication(), table: tview.NewTable().SetFixed(1, 0).SetSelectable(true, false), text: tview.NewTextView().SetScrollable(true),
		foot: tview.NewTextView(), pages: tview.NewPages(), at: at, ask: make(chan place, 1),
	}
	t.pages.AddPage("table", t.table, true, true).AddPage("text", t.text, true, false)
	t.table.SetSelectedFunc(func(row, _ int) {
		if i := row - 1; i >= 0 && i < len(t.shown.names) {
			t.move(t.at.down(t.shown.names[i]))
		}
	})
	t.app.SetInputCapture(func(key *tcell.EventKey) *tcell.EventKey {
		switch {
		case key.Rune() == 'q':
			t.app.Stop()
		case key.Key() == tcell.KeyEscape, key.Key() == tcell.KeyBackspace2, key.Key() == tcell.KeyLeft:
			t.move(t.at.up())
		default:
			return key
		}
		return nil
	})
	t.app.SetRoot(tview.NewFlex().SetDirection(tview.FlexRow).AddItem(t.pages, 0, 1, true).AddItem(t.foot, 1, 0, false), true)
	return t
}

// move goes to another place, which is read at once.
func (t *topScreen) move(to place) {
	if to == t.at {
		return
	}
	t.at = to
	t.table.Select(1, 0)
	select {
	case <-t.ask: // it is not wanted any more
	default:
	}
	t.ask <- to
}

// read asks again and again what there is to see, until the context ends.
func (t *topScreen) read(ctx context.Context, c *client.Client, at place, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		one, cancel := within(ctx)
		s, err := at.look(one, c)
		cancel()
		of := at
		t.app.QueueUpdateDraw(func() {
			if of == t.at {
				t.show(s, err)
			}
		})
		select {
		case at = <-t.ask:
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// show draws what there is to see. What could not be read leaves what was there.
func (t *topScreen) show(s screen, err error) {
	if err != nil {
		t.foot.SetText(fmt.Sprintf("%s | %v", t.at, err))
		return
	}
	t.shown = s
	keys := "enter: down, escape: up, q: end"
	if s.more > 0 {
		keys = fmt.Sprintf("%d more are not shown | %s", s.more, keys)
	}
	t.foot.SetText(fmt.Sprintf("%s | %s", t.at, keys))
	if s.table == nil {
		lines := make([]string, len(s.lines))
		for i, line := range s.lines {
			lines[i] = client.Readable(line)
		}
		t.text.SetText(strings.Join(lines, "\n"))
		t.pages.SwitchToPage("text")
		return
	}
	row, _ := t.table.GetSelection()
	t.table.Clear()
	for column, heading := range s.table.Headings {
		t.table.SetCell(0, column, tview.NewTableCell(heading).SetSelectable(false).SetAttributes(tcell.AttrBold))
	}
	for i, cells := range s.table.Rows {
		for column, cell := range cells {
			t.table.SetCell(i+1, column, tview.NewTableCell(tview.Escape(cell)).SetExpansion(1))
		}
	}
	t.table.Select(max(1, min(row, len(s.table.Rows))), 0)
	t.pages.SwitchToPage("table")
}
