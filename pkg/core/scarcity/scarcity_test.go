package scarcity

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Kinds are vcore, memory and gpu, of which 1000 is a device.
func newTestCluster() *Cluster { return New([]resources.Kind{2, 0, 1}, []int64{1000, 0, 0}) }

// enter adds nodes that are empty.
func enter(c *Cluster, count int, model string, capacity ...int64) []*Place {
	var all []*Place
	for range count {
		p := new(Place)
		c.Enter(p, capacity, map[string]string{"model": model})
		c.SetFree(p, capacity)
		all = append(all, p)
	}
	return all
}

// reenter enters nodes anew where other attributes count than before.
func reenter(c *Cluster, nodes []testNode) {
	for c.TakeRelabel() {
		for i := range nodes {
			c.Leave(nodes[i].place)
		}
		for i := range nodes {
			n := &nodes[i]
			c.Enter(n.place, n.capacity, n.attributes)
			c.SetFree(n.place, n.free)
		}
	}
}

type testNode struct {
	place          *Place
	capacity, free resources.Amounts
	attributes     map[string]string
}

// TestPrices: two nodes of T4 and six of others, with two GPUs each.
func TestPrices(t *testing.T) {
	ask, anywhere := resources.Amounts{1, 1, 1000}, ""
	for _, c := range []struct {
		name      string
		asks      map[string]int64
		used      int64 // of what is free on those of T4, in percent
		t4, other int64 // in percent
	}{
		{"nothing arrives, nothing is dear", nil, 0, 0, 0},
		{"what can run anywhere makes all nodes as dear", map[string]int64{anywhere: 10}, 0, 100, 100},
		{"a quarter wants the quarter that is T4", map[string]int64{anywhere: 30, "model=T4": 10}, 0, 175, 75},
		{"half of them want it", map[string]int64{anywhere: 10, "model=T4": 10}, 0, 250, 50},
		{"half of it is taken, so it is twice as dear, with a little more free", map[string]int64{anywhere: 30, "model=T4": 10}, 50, 250, 75},
		{"nearly nothing is left", map[string]int64{anywhere: 30, "model=T4": 10}, 99, 400, 75},
		{"any of two models", map[string]int64{"model=T4|G2": 10}, 0, 100, 100},
		{"one that no node has", map[string]int64{"model=A10": 10}, 0, 0, 0},
		{"any model", map[string]int64{"model=*": 10}, 0, 100, 100},
		{"what cannot be read is no selector", map[string]int64{"model": 10}, 0, 100, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := newTestCluster()
			cluster.name("model")
			cluster.TakeRelabel()
			t4, other := enter(cluster, 2, "T4", 10, 10, 2000), enter(cluster, 6, "G2", 10, 10, 2000)
			for _, p := range t4 {
				cluster.SetFree(p, resources.Amounts{10, 10, 2000 * (100 - c.used) / 100})
			}
			for selector, asks := range c.asks {
				for range asks {
					cluster.Arrive(selector, ask)
				}
			}
			cluster.Weigh()
			percent := func(p *Place) int64 { return (cluster.prices[p.Class][0]*100 + priceUnit/2) / priceUnit }
			assert.Equal(t, percent(t4[0]), c.t4)
			assert.Equal(t, percent(other[0]), c.other)
		})
	}
}

// TestPricesLikeTheNaiveTwin: a twin that knows no classes and no profiles looks at all nodes for each ask, and counts with fractions.
func TestPricesLikeTheNaiveTwin(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for seed := range uint64(100) {
		chance := rand.New(rand.NewPCG(seed, 1))
		c := newTestCluster()
		var nodes []testNode
		for i := range 1 + chance.IntN(20) {
			size := int64(1 + chance.IntN(4))
			n := testNode{
				place: new(Place), capacity: resources.Amounts{size * 8000, size << 36, int64(chance.IntN(3)) * 4000},
				attributes: map[string]string{"zone": string(rune('a' + i%3)), "disk": strings.Repeat("x", chance.IntN(2)), "name": fmt.Sprint(i)},
			}
			if chance.IntN(3) == 0 {
				n.attributes["si/taint/gpu"] = []string{"x", "y"}[chance.IntN(2)]
			}
			n.free = n.capacity.Clone()
			for k := range n.free {
				n.free[k] -= chance.Int64N(n.free[k] + 1)
			}
			c.Enter(n.place, n.capacity, n.attributes)
			c.SetFree(n.place, n.free)
			nodes = append(nodes, n)
		}
		var asks []testAsk
		for range chance.IntN(200) {
			a := testAsk{
				[]string{"", "zone=a", "zone=b|c,disk=x", "disk=", "disk=*,si/taint/gpu=|x", "si/taint/gpu=|*", "si/taint/=*", "si/taint/gpu=y"}[chance.IntN(8)],
				resources.Amounts{1000 << chance.IntN(5), 1 << (32 + chance.IntN(5)), int64(chance.IntN(3)) * 1000},
			}
			asks = append(asks, a)
			p := c.Arrive(a.selector, a.amounts)
			if chance.IntN(2) == 0 {
				c.Wait(p, 1)
				asks = append(asks, a)
			}
		}
		reenter(c, nodes)
		c.Weigh()
		for i := range nodes {
			for k := range c.kinds {
				want, _ := new(big.Float).SetRat(naivePrice(nodes, i, asks, c.kinds[k])).Float64()
				got := float64(c.prices[nodes[i].place.Class][k]) / priceUnit
				assert.Assert(t, got >= want-0.01 && got <= want+0.01, "seed %d, node %d, kind %d: %f, the twin has %f", seed, i, c.kinds[k], got, want)
			}
		}
	}
}

type testAsk struct {
	selector string
	amounts  resources.Amounts
}

// naivePrice sums up, over the asks that could run on a node were it empty, which part they are of all, against which
// part of what is free they can use; those that can use the same nodes together, and each sum at most four.
func naivePrice(nodes []testNode, at int, asks []testAsk, kind resources.Kind) *big.Rat {
	can := func(n *testNode, a *testAsk) bool {
		for _, term := range strings.Split(a.selector, ",") {
			label, values, is := strings.Cut(term, "=")
			value := n.attributes[label]
			named := strings.Contains("|"+values+"|", "|"+value+"|") || value != "" && strings.Contains(values, "*")
			if is && !named && label != "si/taint/" {
				return false
			}
		}
		if n.attributes["si/taint/gpu"] != "" && !strings.Contains(a.selector, "si/taint/") {
			return false
		}
		return a.amounts.FitsIn(n.capacity)
	}
	wants, all, free := map[string]int64{}, int64(0), map[string]int64{}
	var total int64
	for i := range nodes {
		total += nodes[i].free.Of(kind)
	}
	here := map[string]bool{}
	for i := range asks {
		set, sum := "", int64(0)
		for j := range nodes {
			if can(&nodes[j], &asks[i]) {
				set += fmt.Sprint(j, " ")
				sum += nodes[j].free.Of(kind)
			}
		}
		if set == "" {
			continue
		}
		here[set] = can(&nodes[at], &asks[i])
		wants[set] += asks[i].amounts.Of(kind)
		all += asks[i].amounts.Of(kind)
		free[set] = sum
	}
	price := new(big.Rat)
	for set, want := range wants {
		if !here[set] || want == 0 {
			continue
		}
		is := big.NewRat(want, all)
		if is.Mul(is, big.NewRat(total, max(free[set], 1))); is.Cmp(big.NewRat(4, 1)) > 0 {
			is.SetInt64(4)
		}
		price.Add(price, is)
	}
	if price.Cmp(big.NewRat(4, 1)) > 0 {
		price.SetInt64(4)
	}
	return price
}

// TestOldAsksCountLess: after 1,024 asks one counts half, and what has gone is forgotten, but for what waits.
func TestOldAsksCountLess(t *testing.T) {
	c := newTestCluster()
	enter(c, 1, "T4", 10, 10, 2000)
	old := c.Arrive("a=1", resources.Amounts{1})
	waits := c.Arrive("b=1", resources.Amounts{1})
	c.Wait(waits, 1)
	for range 3 * halfLife {
		c.Arrive("", resources.Amounts{1})
	}
	assert.Equal(t, len(c.profiles), 2)
	assert.Assert(t, old.recent == 0 && waits.waits == 1 && c.known[string(c.keyOf("a=1", resources.Amounts{1}))] == nil)
	assert.Assert(t, c.profiles[1].recent < 2*halfLife, "%d", c.profiles[1].recent)
}

// TestBounds: whatever is made up, so many profiles, attributes and classes are known and no more. An attribute of which
// every node has its own value does not count.
func TestBounds(t *testing.T) {
	c := newTestCluster()
	var nodes []testNode
	for i := range 100 {
		n := testNode{new(Place), resources.Amounts{8, 8}, resources.Amounts{8, 8}, map[string]string{"name": fmt.Sprint(i), "zone": fmt.Sprint(i % 2)}}
		c.Enter(n.place, n.capacity, n.attributes)
		c.SetFree(n.place, n.free)
		nodes = append(nodes, n)
	}
	for i := range 150 {
		c.Arrive(fmt.Sprintf("zone=0,name=%d,l%d=x", i, i), resources.Amounts{int64(1 + i), 1})
		reenter(c, nodes)
		c.Weigh()
	}
	assert.Assert(t, len(c.profiles) <= profilesMax && len(c.labels)+len(c.useless) <= labelsMax && len(c.classes) <= classesMax)
	assert.Assert(t, !c.counts("name") && c.counts("zone"))
	assert.Equal(t, len(parse(strings.Repeat("a=b,", 20))), termsMax)
	assert.Equal(t, len(parse(strings.Repeat("a", selectorBytesMax)+"=b")), 0)
}

// TestEveryChangeIsWeighed: what arrives, what waits and what is free.
func TestEveryChangeIsWeighed(t *testing.T) {
	c := newTestCluster()
	p := enter(c, 1, "T4", 10, 10, 2000)[0]
	ask := c.Arrive("", resources.Amounts{1})
	assert.Assert(t, c.Weigh() && !c.Weigh())
	for name, change := range map[string]func(){
		"an ask came":    func() { c.Arrive("", resources.Amounts{1}) },
		"an ask waits":   func() { c.Wait(ask, 1) },
		"room is taken":  func() { c.SetFree(p, resources.Amounts{1}) },
		"a node changed": func() { c.Enter(p, resources.Amounts{20, 10, 2000}, nil) },
	} {
		change()
		assert.Assert(t, c.Weigh() && !c.Weigh(), name)
	}
}

// TestTheLastClassTakesAnything: nodes beyond those that are told apart count for every ask, however large.
func TestTheLastClassTakesAnything(t *testing.T) {
	c := newTestCluster()
	for i := range int64(9) {
		for j := range int64(8) {
			enter(c, 1, "", 1<<i, 1<<j)
		}
	}
	assert.Equal(t, c.Classes(), classesMax)
	p := c.Arrive("", resources.Amounts{1 << 20})
	assert.Equal(t, c.usableBy(p), uint64(1)<<(classesMax-1))
}

// TestTaintsCountInOneOrder, however a node lists them, since of too many attributes the last one is dropped.
func TestTaintsCountInOneOrder(t *testing.T) {
	c, attributes := newTestCluster(), map[string]string{}
	var want []string
	for i := range labelsMax {
		name := "si/taint/" + string(rune('a'+i))
		attributes[name], want = "x", append(want, name)
	}
	c.Enter(new(Place), resources.Amounts{1}, attributes)
	assert.DeepEqual(t, c.labels, want)
}

// TestReason names, of asks that make a class equally dear, those that came first, and none that could use the other class.
func TestReason(t *testing.T) {
	c := newTestCluster()
	c.name("model")
	c.TakeRelabel()
	t4, other := enter(c, 1, "T4", 8, 8, 2000)[0], enter(c, 3, "G2", 8, 8, 2000)[0]
	enter(c, 1, "P100", 8, 8, 2000)
	enter(c, 1, "A10", 8, 8, 2000)
	_, found := c.Reason(t4.Class, other.Class)
	assert.Assert(t, !found, "nothing arrives")
	for _, selector := range []string{"model=T4|P100", "model=T4|A10", "", "", "model=G2"} {
		c.Arrive(selector, resources.Amounts{1, 1, 1000})
	}
	c.Weigh()
	kept, found := c.Reason(t4.Class, other.Class)
	assert.Assert(t, found)
	assert.DeepEqual(t, kept, Reason{Selector: "model=T4|P100", Percent: 20, Free: resources.Amounts{0, 0, 4000}})
	kept, found = c.Reason(other.Class, t4.Class)
	assert.Assert(t, found)
	assert.DeepEqual(t, kept, Reason{Selector: "model=G2", Percent: 20, Free: resources.Amounts{0, 0, 6000}})
}

// TestPriceOfWhatIsFullInAnAbsurdCluster: of what is free, nothing is where asks can run, and more than can be counted elsewhere.
func TestPriceOfWhatIsFullInAnAbsurdCluster(t *testing.T) {
	c := newTestCluster()
	c.name("model")
	c.TakeRelabel()
	full := enter(c, 1, "T4", countedMax)[0]
	c.SetFree(full, nil)
	enter(c, 8, "G2", countedMax)
	c.Arrive("model=T4", resources.Amounts{countedMax})
	c.Weigh()
	assert.Equal(t, c.prices[full.Class][1], int64(priceMax))
}

// TestWeighingMakesNoGarbage, once it knows what there is; and a change pays for it.
func TestWeighingMakesNoGarbage(t *testing.T) {
	c := newTestCluster()
	c.name("model")
	for i := range 20 {
		enter(c, 2, fmt.Sprint(i), 10, 10, 2000)
	}
	for i := range 100 {
		c.Arrive(fmt.Sprintf("model=%d|%d", i%20, i%7), resources.Amounts{1, 1, int64(i)})
	}
	c.weigh()
	assert.Equal(t, testing.AllocsPerRun(20, c.weigh), 0.0)
	worked := c.Weighed()
	for range 100 {
		c.Arrive("", resources.Amounts{1, 1, 1000})
		c.Weigh()
	}
	assert.Assert(t, c.Weighed()-worked > 2 && c.Weighed()-worked < 20, "%d", c.Weighed()-worked)
}

// FuzzPrice: prices are bounded for any amounts; nothing overflows or divides by zero.
func FuzzPrice(f *testing.F) {
	f.Add(int64(8000), int64(500), int64(1000), "model=T4")
	f.Add(int64(1)<<62, int64(1)<<62, int64(1)<<62, "")
	f.Add(int64(1)<<62, int64(0), int64(1)<<62, "model=T4")
	f.Fuzz(func(t *testing.T, capacity, free, ask int64, selector string) {
		c := newTestCluster()
		p := enter(c, 3, "T4", capacity, 1, capacity)
		c.SetFree(p[0], resources.Amounts{free, free, free})
		for range 3 {
			c.Arrive(selector, resources.Amounts{ask, 0, ask})
		}
		c.Weigh()
		price := c.Price(p[0].Class, c.WorthOf(resources.Amounts{ask, 1, ask}))
		assert.Assert(t, price >= 0 && price <= costMax, "%d", price)
	})
}
