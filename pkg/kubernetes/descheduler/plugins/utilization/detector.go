package utilization

import "time"

// A detector says whether a node is loaded, from observations in a row: so that a short
// peak moves no pods.
type detector struct {
	abnormal, normal uint32 // observations in a row, of which one is zero
	loaded           bool
	since            time.Time // of loaded
	seen             time.Time
	call             uint64 // the number of the call that saw it last
}

// observe counts an observation, and says whether the node is loaded: from the n-th
// abnormal one in a row on, until the n-th normal one in a row or the timeout.
func (d *detector) observe(now time.Time, abnormal bool, c AnomalyCondition) bool {
	if d.loaded && now.Sub(d.since) >= c.Timeout.Duration {
		d.reset()
	}
	if abnormal {
		d.normal = 0
		d.abnormal = min(d.abnormal+1, c.ConsecutiveAbnormalities)
		if !d.loaded && d.abnormal >= c.ConsecutiveAbnormalities {
			d.loaded, d.since = true, now
		}
		return d.loaded
	}
	d.abnormal = 0
	d.normal = min(d.normal+1, c.ConsecutiveNormalities)
	if d.normal >= c.ConsecutiveNormalities {
		d.reset()
	}
	return d.loaded
}

// reset forgets all observations.
func (d *detector) reset() { d.abnormal, d.normal, d.loaded = 0, 0, false }

// detectors are those of the nodes of one pool.
type detectors struct {
	byNode map[string]*detector
	call   uint64
	at     time.Time // of the last call
}

// begin is called once before the observations of a call, and says whether it is the first
// one at this time: a second one sees nothing new. It forgets nodes that were not seen in
// the last call and not for some time either.
func (d *detectors) begin(now time.Time, keep time.Duration) (fresh bool) {
	if d.call > 0 && now.Equal(d.at) {
		return false
	}
	d.at = now
	for name, one := range d.byNode {
		if one.call < d.call && now.Sub(one.seen) > keep {
			delete(d.byNode, name)
		}
	}
	d.call++
	return true
}

// of is the detector of a node, which is seen now.
func (d *detectors) of(node string, now time.Time) *detector {
	one := d.byNode[node]
	if one == nil {
		one = &detector{}
		d.byNode[node] = one
	}
	one.seen, one.call = now, d.call
	return one
}
