package accounting

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
)

func opened(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	assert.NilError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func work(day, user string, used float64) archive.AccountRow {
	return archive.AccountRow{Partition: "p", Day: day, Queue: "root.a", User: user, Kind: "vcore", Used: used, Wasted: used / 2, Preempted: used / 4}
}

// says compares what is in the file with lines of day, user and what was used.
func says(t *testing.T, s *Store, want ...string) {
	t.Helper()
	rows, err := s.Rows(t.Context(), "p", "")
	assert.NilError(t, err)
	var lines []string
	for _, r := range rows {
		assert.Equal(t, r.Used, 2*r.Wasted)
		assert.Equal(t, r.Used, 4*r.Preempted)
		lines = append(lines, fmt.Sprint(r.Day, " ", r.User, " ", r.Used))
	}
	assert.DeepEqual(t, lines, want)
}

// TestRestart: what was added before is there, and what is added for the same day is added to it.
func TestRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a file with ? and %.db")
	s := opened(t, path)
	assert.NilError(t, s.Add(t.Context(), []archive.AccountRow{work("2026-01-31", "ann", 8), work("2026-01-31", "ann", 4)}))
	assert.NilError(t, s.Add(t.Context(), nil))
	assert.NilError(t, s.Close())
	s = opened(t, path)
	assert.NilError(t, s.Add(t.Context(), []archive.AccountRow{work("2026-01-31", "ann", 8), work("2026-02-01", "bob", 4)}))
	says(t, s, "2026-02-01 bob 4", "2026-01-31 ann 20")
	january, err := s.Rows(t.Context(), "p", "2026-01")
	assert.NilError(t, err)
	assert.Equal(t, len(january), 1)
	none, err := s.Rows(t.Context(), "other", "")
	assert.NilError(t, err)
	assert.Equal(t, len(none), 0)
}

// TestWrittenOnce: an attempt that seems to fail after it has been written is made again, and counts nothing twice.
func TestWrittenOnce(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "db"))
	assert.NilError(t, s.Add(t.Context(), []archive.AccountRow{work("2026-01-31", "ann", 8)}))
	s.writing = []archive.AccountRow{work("2026-01-31", "ann", 8)} // as if the answer had been an error
	assert.NilError(t, s.Add(t.Context(), []archive.AccountRow{work("2026-01-31", "ann", 4)}))
	says(t, s, "2026-01-31 ann 12")
}

// TestLocked: while another process has the file, work waits. It is written with what comes next.
func TestLocked(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	path := filepath.Join(t.TempDir(), "db")
	s, other := opened(t, path), opened(t, path)
	tx, err := other.db.BeginTx(t.Context(), nil)
	assert.NilError(t, err)
	for range 2 {
		err = s.Add(t.Context(), []archive.AccountRow{work("2026-01-31", "ann", 8)})
		assert.ErrorContains(t, err, "accounting file "+path+": database is locked")
	}
	assert.NilError(t, tx.Rollback())
	assert.NilError(t, s.Add(t.Context(), nil))
	says(t, s, "2026-01-31 ann 16")
}

// TestFull: of a file that cannot grow nothing is lost, and what is there can be read.
func TestFull(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	path := filepath.Join(t.TempDir(), "db")
	s, err := open(path, 6)
	assert.NilError(t, err)
	var rows []archive.AccountRow
	for i := range 1000 {
		rows = append(rows, work("2026-01-31", fmt.Sprint("user", i), 8))
	}
	assert.NilError(t, s.Add(t.Context(), rows[:1]))
	assert.ErrorContains(t, s.Add(t.Context(), rows[1:]), "database or disk is full")
	says(t, s, "2026-01-31 user0 8")
	_, err = s.db.Exec("PRAGMA max_page_count = 1000") // there is room again
	assert.NilError(t, err)
	assert.NilError(t, s.Add(t.Context(), nil))
	all, err := s.Rows(t.Context(), "p", "")
	assert.NilError(t, err)
	assert.Equal(t, len(all), 1000)
	assert.NilError(t, s.Close())
}

// TestBounds: days, the rows of one and what waits are bounded. A clock that was in the far future for a while costs no
// more than one day.
func TestBounds(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "db"))
	s.daysMax, s.rowsMax = 3, 2
	for _, day := range []string{"2026-01-29", "2099-01-01", "2026-01-30", "2026-01-31"} {
		assert.NilError(t, s.Add(t.Context(), []archive.AccountRow{work(day, "ann", 4)}))
	}
	for _, user := range []string{"bob", "carol", "dan"} {
		assert.NilError(t, s.Add(t.Context(), []archive.AccountRow{work("2026-01-31", user, 8)}))
	}
	says(t, s, "2099-01-01 ann 4", "2026-01-31 (others) 16", "2026-01-31 ann 4", "2026-01-31 bob 8", "2026-01-30 ann 4")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, user := range []string{"eve", "fay", "gus", "hal"} {
		assert.ErrorContains(t, s.Add(ended, []archive.AccountRow{work("2026-01-31", user, 8)}), "context canceled")
	}
	assert.Assert(t, len(s.writing)+len(s.waiting) <= 2*s.rowsMax)
}

// TestDaysAreBounded: of ten times as many days as are kept, the last are, and the file does not grow any more.
func TestDaysAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	s := opened(t, filepath.Join(t.TempDir(), "db"))
	pages := func() (n int) {
		assert.NilError(t, s.db.QueryRow("PRAGMA page_count").Scan(&n))
		return n
	}
	at, full := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 0
	for year := range 10 {
		var rows []archive.AccountRow
		for range DaysMax {
			rows = append(rows, work(at.Format(time.DateOnly), "ann", 4))
			at = at.AddDate(0, 0, 1)
		}
		assert.NilError(t, s.Add(t.Context(), rows))
		if year == 1 {
			full = pages()
		}
	}
	all, err := s.Rows(t.Context(), "p", "")
	assert.NilError(t, err)
	assert.Equal(t, len(all), 400)
	assert.Equal(t, all[0].Day, at.AddDate(0, 0, -1).Format(time.DateOnly))
	assert.Assert(t, pages() <= full+1, "%d pages, and %d before", pages(), full)
}

// TestNoDatabase: a file that is something else, and one of a later version, are refused as they are.
func TestNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	assert.NilError(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 100)), 0o600))
	_, err := Open(path)
	assert.ErrorContains(t, err, "accounting file "+path+": file is not a database")
	_, err = Open(filepath.Join(t.TempDir(), "none", "db"))
	assert.ErrorContains(t, err, "unable to open database file")
	later := filepath.Join(t.TempDir(), "later")
	s := opened(t, later)
	_, err = s.db.Exec("PRAGMA user_version = 2")
	assert.NilError(t, err)
	_, err = Open(later)
	assert.ErrorContains(t, err, "it is of version 2, and this program knows 1")
}
