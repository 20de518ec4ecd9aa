package policy

// fields says which keys the limits have. Those of a cycle have the names that the
// descheduler of Kubernetes gives them; it knows none of the others.
func (l *Limits) fields() []field {
	return []field{
		{"maxNoOfPodsToEvictPerNode", func(c cursor) { l.PerNode = c.count() }},
		{"maxNoOfPodsToEvictPerNamespace", func(c cursor) { l.PerNamespace = c.count() }},
		{"maxNoOfPodsToEvictPerWorkload", func(c cursor) { l.PerWorkload = c.count() }},
		{"maxNoOfPodsToEvictTotal", func(c cursor) { l.Total = c.count() }},
		{"limits", l.further},
	}
}

// further reads limits that count over more than a cycle.
func (l *Limits) further(c cursor) {
	c.fields(
		field{"inFlight", l.InFlight.read},
		field{"workloadRate", l.WorkloadRate.read},
		field{"coolDown", l.CoolDown.read},
	)
}

func (f *InFlight) read(c cursor) {
	c.fields(
		field{"perNode", func(c cursor) { f.PerNode = c.count() }},
		field{"perNamespace", func(c cursor) { f.PerNamespace = c.count() }},
		field{"perWorkload", func(c cursor) { f.PerWorkload = c.count() }},
		field{"total", func(c cursor) { f.Total = c.count() }},
	)
}

func (r *Rate) read(c cursor) {
	c.fields(
		field{"max", func(c cursor) {
			if n := c.count(); n != nil {
				r.Max = *n
			}
		}},
		field{"window", func(c cursor) { r.Window = c.span() }},
	)
	if !c.IsMapping() || c.read.failed() {
		return
	}
	switch {
	case r.Max > 0 && r.Window == 0:
		c.fail("window is missing: the time in which at most %d evictions of a workload are allowed, such as 5m", r.Max)
	case r.Max == 0 && r.Window > 0:
		c.fail("max is missing: how many evictions of a workload are allowed in %s, at least 1", r.Window)
	}
}

func (d *CoolDown) read(c cursor) {
	initial, longest := d.Initial, d.Max
	given := false
	c.fields(
		field{"initial", func(c cursor) { initial = c.span() }},
		field{"max", func(c cursor) { longest, given = c.span(), true }},
	)
	if given && longest < initial {
		c.fail("max is %s, less than initial, %s", longest, initial)
	}
	if initial == 0 {
		longest = 0
	}
	d.Initial, d.Max = initial, max(initial, longest)
}
