package preemptor

// Candidates are the keys from which Plan would choose, the most important first,
// and for each whether its end would exceed a budget if all less important ones
// had ended before. The lists are empty where no victim is needed or possible.
// They are for a resource manager that chooses the victims itself; see Accept.
func (pl *Planner) Candidates(cfg Config, ask Ask, node Node) (keys []string, violating []bool) {
	p := &pl.plan
	p.start(cfg, ask, node)
	p.reporting = false
	if p.filter(); p.nothingToChoose() {
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

// Refuse is the decision that the ask cannot run on the node, whatever is
// removed, because the resource manager says so.
func (pl *Planner) Refuse(cfg Config, ask Ask, node Node, why string) Decision {
	p := &pl.plan
	p.start(cfg, ask, node)
	p.reporting = true
	p.filter()
	p.reason, p.refusal = Refused, why
	return p.decision()
}
