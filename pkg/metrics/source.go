package metrics

import (
	"sync"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Views are partitions as they are now. A scheduler implements it. Glance may wait
// for its partition, and may fail: the partition may just be gone.
type Views interface {
	Partitions() []string // each once
	Glance(partition string) (*core.View, error)
}

// viewWait is how long a gather waits for views. A partition may be held up by a
// callback; what holds it up can only be seen if the rest is scraped in spite of
// it, within the ten seconds that Prometheus waits by default.
const viewWait = 4 * time.Second

// A source asks for views.
type source struct {
	views Views
	kinds *resources.Kinds

	mu    sync.Mutex
	asked map[string]*question // under way, by partition
}

// A question is a view that was asked for. The view, nil if there is none, may
// be read once it is answered.
type question struct {
	partition string
	answered  chan struct{} // closed by the answer
	view      *core.View
}

// ask asks all partitions at the same time.
func (s *source) ask() []*question {
	var questions []*question
	for _, partition := range s.views.Partitions() {
		questions = append(questions, s.askOne(partition))
	}
	return questions
}

// askOne asks a partition, or joins a question to it that is under way: a
// partition that does not answer holds one goroutine, however often it is
// scraped.
func (s *source) askOne(partition string) *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.asked[partition]; q != nil {
		return q
	}
	q := &question{partition: partition, answered: make(chan struct{})}
	s.asked[partition] = q
	go func() {
		if view, err := s.views.Glance(partition); err == nil {
			q.view = view
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.asked, partition)
		close(q.answered)
	}()
	return q
}

// read waits for the answers, not longer than viewWait altogether, and makes
// series of them.
func (s *source) read() *page {
	p := new(page)
	questions := s.ask()
	late := time.NewTimer(viewWait)
	defer late.Stop()
	timeout := false
	for _, q := range questions {
		if !timeout {
			select {
			case <-q.answered:
			case <-late.C:
				timeout = true
			}
		}
		s.readOne(p, q)
	}
	return p
}

// readOne makes series of an answer, if it is there.
func (s *source) readOne(p *page, q *question) {
	partition := label("partition", q.partition)
	select {
	case <-q.answered:
	default:
		p.add(partitionUp, 0, partition)
		return
	}
	if q.view == nil {
		p.add(partitionUp, 0, partition)
		return
	}
	p.add(partitionUp, 1, partition)
	newReading(p, q.view, partition, s.kinds).all()
}
