package devices

import (
	"math/bits"
	"slices"
)

// Max is the most devices of one kind that a node is counted with. One that has more of them
// has none as far as this package knows: its asks are packed by their sums.
const Max = 1024

// A Table is what is free of each device of a node, in thousandths of a device, least first.
// Which device is which does not matter.
type Table []int64

// whole is a device that is free.
const whole = 1000

// New is the table of a node with a capacity of a kind, of which one device is so much. What
// is left over is a smaller device. It is empty if the node has none, or more than Max.
func New(capacity, size int64) Table {
	if capacity <= 0 || capacity/size > Max {
		return nil
	}
	t := make(Table, 0, capacity/size+1)
	if rest := inParts(capacity%size, size); rest > 0 {
		t = append(t, rest)
	}
	for range capacity / size {
		t = append(t, whole)
	}
	return t
}

// inParts is an amount in thousandths of a device, rounded up. It is at most 1000 times Max.
func inParts(amount, size int64) int64 {
	if amount <= 0 {
		return 0
	}
	if amount/size > Max {
		return whole * Max
	}
	hi, lo := bits.Mul64(uint64(amount), whole)
	lo, carry := bits.Add64(lo, uint64(size-1), 0)
	parts, _ := bits.Div64(hi+carry, lo, uint64(size))
	return int64(parts)
}

// A demand is how many whole devices an ask wants, and how much of one more.
type demand struct{ devices, share int64 }

// demandOf is what an amount comes to.
func demandOf(amount, size int64) demand {
	parts := inParts(amount, size)
	return demand{parts / whole, parts % whole}
}

// Take books an amount of a kind, of which one device is so much: whole devices, and for what
// is left the device with the least that is enough. If there is no such device, what is needed
// is taken off the freest ones, as the resource manager has divided it in another way.
func (t Table) Take(amount, size int64) {
	d := demandOf(amount, size)
	missing := d.share
	for i := len(t) - 1; i >= 0 && d.devices > 0 && t[i] == whole; i-- {
		t[i] = 0
		d.devices--
	}
	missing += d.devices * whole
	slices.Sort(t)
	if i := t.best(missing); i < len(t) {
		t[i] -= missing
		missing = 0
	}
	for i := len(t) - 1; i >= 0 && missing > 0; i-- {
		taken := min(t[i], missing)
		t[i] -= taken
		missing -= taken
	}
	slices.Sort(t)
}

// best is the place of the device with the least that is enough for a share, the length of
// the table if there is none.
func (t Table) best(share int64) int {
	i, _ := slices.BinarySearch(t, share)
	return i
}

// total is what is free of all devices.
func (t Table) total() (sum int64) {
	for _, free := range t {
		sum += free
	}
	return sum
}

// free is how many devices are free as a whole.
func (t Table) free() int64 { return int64(len(t) - t.best(whole)) }

// left is what remains of the device of which a share is taken. Where there is no such device,
// it is that of a whole one.
func (t Table) left(share int64) int64 {
	if share == 0 {
		return 0
	}
	if i := t.best(share); i < len(t) {
		return t[i] - share
	}
	return whole
}
