package archive

import (
	"sync"
	"time"
)

// An Archive is the books of all partitions. Its methods may be called from any
// goroutine.
type Archive struct {
	config Config

	mu     sync.RWMutex
	books  map[string]*Book
	former map[int64]Count // counts of partitions that are gone, by minute
	logs   map[string]*changeLog
	// leftOver is the work of books that were closed, until it is taken, by partition.
	leftOver map[string][]Account
}

// New makes an empty archive. The error is that of Config.Validate.
func New(config Config) (*Archive, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Archive{config: config.withDefaults(), books: map[string]*Book{}, former: map[int64]Count{}, logs: map[string]*changeLog{}, leftOver: map[string][]Account{}}, nil
}

// Open begins the book of a partition, in place of the one of the same name if
// there is one.
func (a *Archive) Open(partition string) *Book {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := newBook(a.config)
	b.changes = a.log(partition)
	a.fold(partition, a.books[partition])
	a.books[partition] = b
	return b
}

// log is the changes of a partition, also of one that was there before. The lock must be held.
func (a *Archive) log(partition string) *changeLog {
	l := a.logs[partition]
	if l == nil {
		l = new(changeLog)
		if len(a.logs) < changeLogsMax {
			a.logs[partition] = l
		}
	}
	return l
}

// Close drops a book, unless it is no longer the one of the partition. What was
// counted in it still counts.
func (a *Archive) Close(partition string, b *Book) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.books[partition] == b {
		a.fold(partition, b)
		delete(a.books, partition)
	}
}

// fold keeps what a book counted. The lock must be held.
func (a *Archive) fold(partition string, b *Book) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if left := b.accounts.take(b.now); len(left) > 0 {
		a.leftOver[partition] = append(a.leftOver[partition], left...)
	}
	b.counts.each(b.counts.to, func(minute int64, c Count) { a.former[minute] = a.former[minute].plus(c) })
	for minute := range a.former {
		if minute <= b.counts.to-minutesMax {
			delete(a.former, minute)
		}
	}
}

// Book is the book of a partition; nil if there is none.
func (a *Archive) Book(partition string) *Book {
	if a == nil {
		return nil
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.books[partition]
}

// Counts is how much there was in all partitions at the end of each of the last
// 1,440 minutes, as far back as anything is known, the oldest first.
func (a *Archive) Counts(now time.Time) []Count {
	last := minuteOf(now)
	sums := make(map[int64]Count, minutesMax)
	first := last + 1
	a.mu.RLock()
	add := func(minute int64, c Count) {
		if minute <= last-minutesMax || minute > last {
			return
		}
		sums[minute] = sums[minute].plus(c)
		first = min(first, minute)
	}
	for minute, c := range a.former {
		add(minute, c)
	}
	for _, b := range a.books {
		b.mu.Lock()
		copied := b.counts // the writer may wait for the lock
		b.mu.Unlock()
		copied.each(last, add)
	}
	a.mu.RUnlock()
	out := make([]Count, 0, last-first+1)
	for minute := first; minute <= last; minute++ {
		c := sums[minute]
		c.At = time.Unix(minute*60, 0)
		out = append(out, c)
	}
	return out
}
