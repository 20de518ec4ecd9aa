package recording

import (
	"encoding/binary"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/wire"
)

// A record is a step, or the end of a segment, as a file has it.
type record struct {
	mark    byte
	now     time.Time
	kinds   []string // that became known before
	command api.Command
	answers []given
	digest  uint64
}

// A given is an answer of the resource manager.
type given struct {
	asked
	answer []byte
}

// An asked is a question, by its kind and what tells it from others.
type asked struct {
	question question
	id       uint64
}

// appendGiven writes an answer as takeRecord takes it.
func appendGiven(w *wire.Writer, g given) {
	w.Out = append(w.Out, byte(g.question))
	w.Out = binary.LittleEndian.AppendUint64(w.Out, g.id)
	w.Number(uint64(len(g.answer)))
	w.Out = append(w.Out, g.answer...)
}

// answerSize is how many bytes an answer has at least.
const answerSize = 1 + 8 + 1

func takeRecord(r *wire.Reader) (s record) {
	if b := r.Bytes(1); b != nil {
		s.mark = b[0]
	}
	switch s.mark {
	case markEnd:
		s.digest = r.Number()
		return s
	case markCommand, markSchedule:
	default:
		r.Fail("%d begins no record: it would be %d to %d", s.mark, markCommand, markEnd)
		return s
	}
	s.now = wire.Take[time.Time](r)
	s.kinds = wire.Take[[]string](r)
	if s.mark == markCommand {
		s.command = r.Command()
	}
	n := r.Number()
	if n > uint64(len(r.Rest)/answerSize) {
		r.Fail("%d answers are more than there can be", n)
		return s
	}
	for range n {
		var g given
		if b := r.Bytes(1); b != nil {
			g.question = question(b[0])
		}
		if b := r.Bytes(8); b != nil {
			g.id = binary.LittleEndian.Uint64(b)
		}
		if g.question >= questions {
			r.Fail("%d is no question: it would be below %d", g.question, questions)
		}
		g.answer = r.Bytes(r.Count())
		s.answers = append(s.answers, g)
	}
	s.digest = r.Number()
	return s
}
