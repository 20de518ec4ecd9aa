package scarcity

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Prices are in parts of priceUnit, which says that all that is free is wanted as much as elsewhere.
const (
	priceUnit = 1 << 16
	priceMax  = 4 * priceUnit
	// parts is in how many parts what an ask wants of a cluster is counted.
	parts = 1 << 30
	// deviceWorth is a device in costs, millionths of it.
	deviceWorth = 1_000_000
	devicesMax  = 1 << 32
	// plainWorth is an ask in costs where there are no devices: four times as much as a node that is
	// empty costs more than one that is full.
	plainWorth = 1 << 30
	// stepsPaid is how many steps of working out prices a change pays for.
	stepsPaid = 64
)

// wanted is what all profiles that can use the same classes want.
type wanted struct {
	usable  uint64
	asks    int64
	parts   []int64  // of the capacity, by kind
	biggest *Profile // with most asks
}

// Weigh works out prices, if enough has changed since that was done, and reports whether it did.
func (c *Cluster) Weigh() bool {
	if c.stale == 0 || c.stale < c.paid {
		return false
	}
	c.weigh()
	c.stale, c.paid = 0, (len(c.profiles)+len(c.wants)*len(c.classes))/stepsPaid
	c.weighed++
	return true
}

// Weighed counts how often prices were worked out.
func (c *Cluster) Weighed() uint64 { return c.weighed }

func (c *Cluster) weigh() {
	c.gather()
	for s := range c.prices {
		clear(c.prices[s])
	}
	clear(c.all)
	for k := range c.kinds {
		for i := range c.wants {
			c.all[k] += c.wants[i].parts[k]
		}
		for i := range c.wants {
			price := c.pressure(&c.wants[i], k)
			for s := range c.prices {
				if c.wants[i].usable>>s&1 == 1 {
					c.prices[s][k] = min(c.prices[s][k]+price, priceMax)
				}
			}
		}
	}
}

// gather sums up what profiles want that can use the same classes.
func (c *Cluster) gather() {
	c.wants = c.wants[:0]
	for _, p := range c.profiles {
		usable, asks := c.usableBy(p), min(p.recent+p.waits, asksMax)
		if usable == 0 || asks == 0 {
			continue
		}
		at := slices.IndexFunc(c.wants, func(w wanted) bool { return w.usable == usable })
		if at < 0 {
			at = c.addWanted(usable, p)
		}
		w := &c.wants[at]
		w.asks += asks
		for i, kind := range c.kinds {
			w.parts[i] += asks * share(p.amounts.Of(kind), c.capacity[i], parts)
		}
		if before := w.biggest; min(before.recent+before.waits, asksMax) < asks {
			w.biggest = p
		}
	}
}

// addWanted adds what is wanted of classes, nothing yet. What was there once is used again.
func (c *Cluster) addWanted(usable uint64, p *Profile) (at int) {
	at = len(c.wants)
	if at < cap(c.wants) {
		c.wants = c.wants[:at+1]
	} else {
		c.wants = append(c.wants, wanted{})
	}
	w := &c.wants[at]
	if w.parts == nil {
		w.parts = make([]int64, len(c.kinds))
	}
	clear(w.parts)
	w.usable, w.asks, w.biggest = usable, 0, p
	return at
}

// pressure is the part of what asks want of a kind, against the part of what is free that they can use.
func (c *Cluster) pressure(w *wanted, kind int) int64 {
	if w.parts[kind] == 0 {
		return 0
	}
	var free int64
	for s := range c.classes {
		if w.usable>>s&1 == 1 {
			free += c.classes[s].free[kind]
		}
	}
	hi, lo := bits.Mul64(uint64(share(w.parts[kind], c.all[kind], priceUnit)), uint64(c.free[kind]))
	if hi >= uint64(max(free, 1)) {
		return priceMax
	}
	price, _ := bits.Div64(hi, lo, uint64(max(free, 1)))
	return int64(min(price, priceMax))
}

// share is the part that a quantity is of another, in so many parts; never more than all.
func share(quantity, of, parts int64) int64 {
	if quantity <= 0 || of <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(min(quantity, of)), uint64(parts))
	is, _ := bits.Div64(hi, lo, uint64(of))
	return int64(is)
}

// A Worth is what amounts are worth, by kind: how much of the cost of a placement the price of each
// counts.
type Worth []int64

// WorthOf is what amounts are worth: where there are devices, their part of all devices, and
// otherwise the same for every ask.
func (c *Cluster) WorthOf(amounts resources.Amounts) Worth {
	worth := make(Worth, len(c.kinds))
	var devices, all int64
	for i, size := range c.devices {
		if size > 0 {
			devices += min(c.capacity[i]/size, devicesMax) * deviceWorth
		}
	}
	for i, kind := range c.kinds {
		worth[i] = share(amounts.Of(kind), c.capacity[i], cmp.Or(devices, parts))
		all += worth[i]
	}
	for i := range worth {
		if devices == 0 {
			worth[i] = share(worth[i], all, plainWorth)
		}
	}
	return worth
}

// Price is what it costs to use a class for amounts of some worth.
func (c *Cluster) Price(class int, worth Worth) (cost int64) {
	for i, price := range c.prices[class] {
		hi, lo := bits.Mul64(uint64(price), uint64(worth[i]))
		if cost += int64(lo >> 16); hi > 0 || cost > costMax {
			return costMax
		}
	}
	return cost
}

// costMax is the most that a price counts in a cost.
const costMax = 1 << 39

// Classes is how many classes there have been at a time.
func (c *Cluster) Classes() int { return len(c.classes) }

// A Reason is for which asks the room of a class is kept.
type Reason struct {
	Selector string
	Percent  int64             // of the asks that arrive
	Free     resources.Amounts // that they can use, of the kind of which they make it dearest
}

// Reason is for which asks a class is kept: of the asks that cannot use another class those which make it
// dearest. It reports whether there are any.
func (c *Cluster) Reason(kept, instead int) (r Reason, found bool) {
	var most, all int64
	var dearest *wanted
	kind := 0
	for i := range c.wants {
		w := &c.wants[i]
		all += w.asks
		if w.usable>>kept&1 == 0 || w.usable>>instead&1 == 1 {
			continue
		}
		for k := range c.kinds {
			if price := c.pressure(w, k); price > most {
				most, dearest, kind = price, w, k
			}
		}
	}
	if dearest == nil {
		return r, false
	}
	r.Selector, r.Percent = dearest.biggest.selector, dearest.asks*100/all
	for s := range c.classes {
		if dearest.usable>>s&1 == 1 {
			r.Free.Set(c.kinds[kind], r.Free.Of(c.kinds[kind])+c.classes[s].free[kind])
		}
	}
	return r, true
}
