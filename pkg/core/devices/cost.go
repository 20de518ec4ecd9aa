package devices

import (
	"math/bits"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Kind is a resource kind that comes in devices, and how much of it one device is, at least
// one.
type Kind struct {
	Kind resources.Kind
	Size int64
}

// A Policy says which kinds come in devices, and which others are needed to use them.
type Policy struct {
	Devices []Kind
	Beside  []resources.Kind
}

// A Node is what the cost of an ask depends on.
type Node struct {
	Capacity, Free resources.Amounts
	Tables         []Table // by Policy.Devices
	// Room is how empty the node is, from zero to RoomMax. It decides for asks that want no
	// devices, among nodes that have none.
	Room int64
}

// RoomMax is the most that Node.Room may be.
const RoomMax = 1 << 40

// Tables are those of a node on which some amounts run, in their order.
func (p *Policy) Tables(capacity resources.Amounts, amounts func(func(resources.Amounts) bool)) []Table {
	tables := make([]Table, len(p.Devices))
	for i, k := range p.Devices {
		tables[i] = New(capacity.Of(k.Kind), k.Size)
	}
	for a := range amounts {
		for i, k := range p.Devices {
			if amount := a.Of(k.Kind); amount > 0 && len(tables[i]) > 0 {
				tables[i].Take(amount, k.Size)
			}
		}
	}
	return tables
}

// Cost is what an ask would waste on a node that has room for it, the less the better. Costs
// of different asks cannot be compared. It takes as many steps as there are devices.
//
// For an ask that wants devices it is, in millionths of a device: what it leaves of the device
// that it shares, and the devices that are of no use after it. If these are the same, the node with fewer
// whole devices comes first for an ask that wants whole ones, and the fuller one otherwise. An
// ask that wants none goes where no devices are, and then where most of what is needed beside
// devices is left for each.
func (p *Policy) Cost(n *Node, ask resources.Amounts) int64 {
	var cost int64
	wants, has := false, false
	for i, k := range p.Devices {
		t := n.Tables[i]
		has = has || len(t) > 0
		amount := ask.Of(k.Kind)
		if amount <= 0 {
			continue
		}
		wants = true
		d := demandOf(amount, k.Size)
		cost += 1000*t.left(d.share) + t.tie(d)
	}
	switch {
	case wants:
		return cost + 1000*p.makesUseless(n, ask)
	case !has:
		return n.Room - 2*RoomMax
	default:
		return -p.beside(n)
	}
}

// tie decides between nodes on which a demand wastes the same.
func (t Table) tie(d demand) int64 {
	if d.devices > 0 {
		return 10 * whole * t.free()
	}
	return t.total()
}

// makesUseless is how much an ask adds to what is free of devices and cannot be used, for lack of
// something else, in thousandths of a device.
func (p *Policy) makesUseless(n *Node, ask resources.Amounts) (sum int64) {
	for i, k := range p.Devices {
		t := n.Tables[i]
		if len(t) == 0 {
			continue
		}
		size, total := int64(len(t))*whole, t.total()
		before, after := size, size
		for _, kind := range p.Beside {
			capacity, free := n.Capacity.Of(kind), n.Free.Of(kind)
			if capacity <= 0 {
				continue
			}
			before = min(before, supported(free, capacity, size))
			after = min(after, supported(free-ask.Of(kind), capacity, size))
		}
		wanted := inParts(ask.Of(k.Kind), k.Size)
		sum += max(total-wanted-after, 0) - max(total-before, 0)
	}
	return sum
}

// supported is how much of devices what is free of another kind is enough for. A device is
// taken to need three quarters of its part of the node, since nodes mostly have more of the
// cheaper kinds than is used.
func supported(free, capacity, size int64) int64 {
	free = min(max(free, 0), capacity)
	for capacity > 1<<60 {
		capacity, free = capacity>>1, free>>1
	}
	hi, lo := bits.Mul64(uint64(free), uint64(4*size))
	parts, _ := bits.Div64(hi, lo, uint64(3*capacity))
	return int64(parts)
}

// beside is how much is left for each free device of what is needed beside it, in millionths
// of the node: of the kind of which that is least.
func (p *Policy) beside(n *Node) int64 {
	const all = 1_000_000
	var devices int64
	for _, t := range n.Tables {
		devices += t.total()
	}
	least := int64(all)
	for _, kind := range p.Beside {
		if capacity := n.Capacity.Of(kind); capacity > 0 {
			least = min(least, supported(n.Free.Of(kind), capacity, all))
		}
	}
	return least * whole / (devices + whole)
}
