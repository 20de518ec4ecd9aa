package core

// DropViews makes the next view from scratch, for tests that compare it with
// the one that was kept.
func (p *Partition) DropViews() {
	for n := range p.allNodes {
		n.view = nil
	}
	p.applications.Ascend(func(app *application) bool {
		app.view = nil
		return true
	})
	p.root.dropViews()
}

func (q *queue) dropViews() {
	q.view = nil
	for _, child := range q.children {
		child.dropViews()
	}
}

// KeepSlots leaves only so many shapes a slot of their own, so that a test with
// few asks meets what happens with many. It is for a partition without asks.
func (p *Partition) KeepSlots(n int) {
	p.shapes.free = p.shapes.free[len(p.shapes.free)-n:]
}

// KnownShapes is how many shapes are remembered.
func (p *Partition) KnownShapes() int { return len(p.shapes.all) }
