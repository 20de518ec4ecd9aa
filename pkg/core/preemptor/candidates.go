package preemptor

// Candidates are those Plan would choose from, by their keys, the most
// important first, and whether the end of each would exceed a budget if all less
// important ones had gone before. There are none where nobody need or can go. It
// is for a resource manager that chooses itself; see Accept.
func (pl *Planner) Candidates(cfg Config, ask Ask, node Node) (keys []string, violating []bool) {
	p := &pl.plan
	p.start(cfg, ask, node)
	p.telling = false
	if p.sift(); p.settled() {
		return nil, nil
	}
	p.rank()
	p.flagBudgeted()
	for i := len(p.ranked) - 1; i >= 0; i-- {
		keys = append(keys, p.ranked[i].Key)
		violating = append(violating, p.ranked[i].violating)
	}
	return keys, violating
}

// Refuse is the decision that the ask may not run on the node, whoever goes,
// because the resource manager says so.
func (pl *Planner) Refuse(cfg Config, ask Ask, node Node, why string) Decision {
	p := &pl.plan
	p.start(cfg, ask, node)
	p.telling = true
	p.sift()
	p.reason, p.refusal = Refused, why
	return p.decision()
}
