package preemption

import "github.com/narwhal-scheduler/narwhal/pkg/core/ledger"

// A minimum is how many members of a group, or of a subgroup where the group counts these, stay, and without how many the others run in vain.
// Nothing is that of what is in no group. What is the same does not change while victims are searched.
type minimum struct {
	of    string
	stay  int
	least int
	whole bool // all of them end or none does
}

func minimumOf(r *ledger.Request) (m minimum) {
	m.of, m.stay, m.least, m.whole = r.MustRun()
	return m
}

// stopsWithout reports whether the others run in vain, or end too, without so many that stay.
func (m minimum) stopsWithout(members int) bool {
	return m.whole || m.least > 1 && m.stay >= m.least && m.stay-members < m.least
}
