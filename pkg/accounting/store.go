package accounting

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // registers itself

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
)

// The bounds.
const (
	DaysMax     = 400     // days that are kept
	rowsMax     = 100_000 // of one day, and of what waits to be written; further ones count together
	answerMax   = 200_000 // that are read at once
	pagesMax    = 262_144 // of 4 KiB, which is 1 GiB
	writersMax  = 100     // processes whose last batch is remembered
	busyTimeout = 1000    // milliseconds to wait for another process
	version     = 1
)

const schema = `
CREATE TABLE IF NOT EXISTS work (
  day TEXT NOT NULL, partition TEXT NOT NULL, queue TEXT NOT NULL, user TEXT NOT NULL, kind TEXT NOT NULL,
  used REAL NOT NULL, wasted REAL NOT NULL, preempted REAL NOT NULL,
  PRIMARY KEY (day, partition, queue, user, kind)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS writers (id INTEGER PRIMARY KEY, instance TEXT NOT NULL UNIQUE, batch INTEGER NOT NULL);`

// A Store is a file with the work of days. Its methods may be called from any goroutine.
type Store struct {
	path     string
	instance string // another text in every process
	db       *sql.DB
	daysMax  int
	rowsMax  int

	mu      sync.Mutex
	batch   int64 // the number of what is written
	writing []archive.AccountRow
	waiting map[key]*archive.AccountRow // to be written after that
}

type key struct{ day, partition, queue, user, kind string }

func keyOf(r *archive.AccountRow) key { return key{r.Day, r.Partition, r.Queue, r.User, r.Kind} }

// Open opens a file, which is made if it is not there.
func Open(path string) (*Store, error) { return open(path, pagesMax) }

// OpenIf opens a file if a path is given; else there is none.
func OpenIf(path string) (archive.Accounting, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // as documented
	}
	s, err := Open(path)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// CloseIf closes what was opened, if anything was.
func CloseIf(kept archive.Accounting) error {
	if kept == nil {
		return nil
	}
	return kept.Close()
}

func open(path string, pages int) (*Store, error) {
	values := url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout), fmt.Sprintf("max_page_count(%d)", pages)}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+values.Encode())
	if err != nil {
		return nil, fmt.Errorf("accounting file %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	s := &Store{path: path, instance: rand.Text(), db: db, daysMax: DaysMax, rowsMax: rowsMax, waiting: map[key]*archive.AccountRow{}}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(s.failed(err), db.Close())
	}
	return s, nil
}

// failed says about which file an error is.
func (s *Store) failed(err error) error { return fmt.Errorf("accounting file %s: %w", s.path, err) }

func (s *Store) prepare() error {
	var found int
	if err := s.db.QueryRow("PRAGMA user_version").Scan(&found); err != nil {
		return err
	}
	if found > version {
		return fmt.Errorf("it is of version %d, and this program knows %d", found, version)
	}
	_, err := s.db.Exec(schema + fmt.Sprintf("PRAGMA user_version = %d;", version))
	if err == nil {
		_, err = s.db.Exec("DELETE FROM writers WHERE id NOT IN (SELECT id FROM writers ORDER BY id DESC LIMIT ?)", writersMax)
	}
	return err
}

// Add adds work, and writes all that waits to be written. With an error it waits on.
func (s *Store) Add(ctx context.Context, rows []archive.AccountRow) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range rows {
		s.wait(&rows[i])
	}
	for len(s.writing) > 0 || len(s.waiting) > 0 {
		if len(s.writing) == 0 {
			s.next()
		}
		if err := s.write(ctx); err != nil {
			return s.failed(err)
		}
		s.writing = nil
	}
	return nil
}

// wait adds work to what waits.
func (s *Store) wait(r *archive.AccountRow) {
	k := keyOf(r)
	if s.waiting[k] == nil && len(s.waiting) >= s.rowsMax {
		k.queue, k.user = "", archive.OthersUser
	}
	one := s.waiting[k]
	if one == nil {
		one = &archive.AccountRow{Day: k.day, Partition: k.partition, Queue: k.queue, User: k.user, Kind: k.kind}
		s.waiting[k] = one
	}
	one.Used += r.Used
	one.Wasted += r.Wasted
	one.Preempted += r.Preempted
}

// next makes a batch of what waits. It stays as it is until it is written, so that a second attempt writes the same.
func (s *Store) next() {
	for _, one := range s.waiting {
		s.writing = append(s.writing, *one)
	}
	slices.SortFunc(s.writing, func(a, b archive.AccountRow) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.Partition, b.Partition), strings.Compare(a.Queue, b.Queue),
			strings.Compare(a.User, b.User), strings.Compare(a.Kind, b.Kind))
	})
	s.waiting = map[key]*archive.AccountRow{}
	s.batch++
}

// write writes the batch, unless it is in the file already: the last attempt may have failed after it had been written.
func (s *Store) write(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // which does nothing after Commit
	var written int64
	err = tx.QueryRowContext(ctx, "SELECT batch FROM writers WHERE instance = ?", s.instance).Scan(&written)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if written >= s.batch {
		return nil
	}
	counts := map[string]int{}
	for _, r := range s.writing {
		if err := s.put(ctx, tx, r, counts); err != nil {
			return err
		}
	}
	const days = "DELETE FROM work WHERE day < (SELECT min(day) FROM (SELECT DISTINCT day FROM work ORDER BY day DESC LIMIT ?))"
	if _, err := tx.ExecContext(ctx, days, s.daysMax); err != nil {
		return err
	}
	const mark = "INSERT INTO writers (instance, batch) VALUES (?, ?) ON CONFLICT (instance) DO UPDATE SET batch = excluded.batch"
	if _, err := tx.ExecContext(ctx, mark, s.instance, s.batch); err != nil {
		return err
	}
	return tx.Commit()
}

// put adds a row to that of the same day, queue, user and kind. One that is new and beyond the bound counts with others.
// Counts are the rows of days, as far as they are known.
func (s *Store) put(ctx context.Context, tx *sql.Tx, r archive.AccountRow, counts map[string]int) error {
	const add = "UPDATE work SET used = used + ?, wasted = wasted + ?, preempted = preempted + ? WHERE day = ? AND partition = ? AND queue = ? AND user = ? AND kind = ?"
	done, err := tx.ExecContext(ctx, add, r.Used, r.Wasted, r.Preempted, r.Day, r.Partition, r.Queue, r.User, r.Kind)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return err
	}
	rows, known := counts[r.Day]
	if !known {
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM work WHERE day = ?", r.Day).Scan(&rows); err != nil {
			return err
		}
	}
	if rows >= s.rowsMax && r.User != archive.OthersUser {
		r.Queue, r.User = "", archive.OthersUser
		return s.put(ctx, tx, r, counts)
	}
	counts[r.Day] = rows + 1
	_, err = tx.ExecContext(ctx, "INSERT INTO work (used, wasted, preempted, day, partition, queue, user, kind) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		r.Used, r.Wasted, r.Preempted, r.Day, r.Partition, r.Queue, r.User, r.Kind)
	return err
}

// Rows are those of a partition of which the day begins with a text, the last day first, and at most 200,000.
func (s *Store) Rows(ctx context.Context, partition, day string) ([]archive.AccountRow, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT day, queue, user, kind, used, wasted, preempted FROM work
WHERE partition = ? AND day >= ? AND day < ? ORDER BY day DESC, queue, user, kind LIMIT ?`, partition, day, day+"\xff", answerMax)
	if err != nil {
		return nil, s.failed(err)
	}
	defer func() { _ = rows.Close() }() // Err says what is wrong
	var out []archive.AccountRow
	for rows.Next() {
		one := archive.AccountRow{Partition: partition}
		if err := rows.Scan(&one.Day, &one.Queue, &one.User, &one.Kind, &one.Used, &one.Wasted, &one.Preempted); err != nil {
			return nil, s.failed(err)
		}
		out = append(out, one)
	}
	if err := rows.Err(); err != nil {
		return nil, s.failed(err)
	}
	return out, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }
