package client

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Loss is the work that was lost by preemption in a queue on a day, of a user.
type Loss struct {
	Day      string  `json:"day"`
	Queue    string  `json:"queueName"`
	User     string  `json:"user"`
	Victims  int     `json:"victims"`
	Wasted   int     `json:"wasted"`  // of these, for nothing
	Running  int     `json:"running"` // of these, which have not ended: nothing of them is lost yet
	RunTime  int64   `json:"runTime"` // of all that have ended, in nanoseconds
	LostWork Amounts `json:"lostWork"`
}

// LossesTable shows what was lost by preemption: how long victims ran, and what they held in
// that time.
func LossesTable(losses []*Loss) *Table {
	t := &Table{Headings: []string{"DAY", "QUEUE", "USER", "VICTIMS", "WASTED", "STILL RUN", "RAN", "LOST, TIMES HOURS"}, numbers: []int{3, 4, 5}}
	for _, l := range losses {
		tone := Plain
		if l.Wasted > 0 {
			tone = Warning
		}
		t.addIn(tone, l.Day, orDash(l.Queue), orDash(l.User), strconv.Itoa(l.Victims), strconv.Itoa(l.Wasted), strconv.Itoa(l.Running), Age(time.Duration(l.RunTime)), l.LostWork.hours())
	}
	return t
}

// hours writes amounts times seconds as amounts times hours, to a tenth. Of pods that is how long
// they ran, which is said besides.
func (a Amounts) hours() string {
	var words []string
	for _, kind := range slices.SortedFunc(maps.Keys(a), resources.CompareKinds) {
		value := float64(a[kind]) / time.Hour.Seconds()
		text := ""
		switch {
		case kind == "pods":
			continue
		case resources.InBytes(kind):
			text = Quantity(kind, int64(value))
		case resources.InThousandths(kind):
			text = fmt.Sprintf("%.1f", value/1000)
		default:
			text = fmt.Sprintf("%.1f", value)
		}
		if text = strings.TrimSuffix(text, ".0"); text == "0" && value > 0 {
			text = "<0.1"
		}
		words = append(words, label(kind)+"="+text)
	}
	return orDash(strings.Join(words, " "))
}
