// Package framework says what a plugin of the descheduler is, and what it is
// given. A descheduler removes pods that run, so that the scheduler may place
// them better; it never places one itself.
//
// A plugin is built once per profile from its arguments and a Handle, and works
// at each extension point where the policy enables it:
//
//	point              interface                called
//	presort            PreSortPlugin            once per plugin run: the order of nodes
//	sort               SortPlugin               by plugins: which of two pods goes first
//	deschedule         DeschedulePlugin         once per cycle, in all profiles, before any balance
//	balance            BalancePlugin            once per cycle, after deschedule of all profiles
//	filter             FilterPlugin             by plugins: may this pod be evicted at all
//	preevictionfilter  PreEvictionFilterPlugin  just before a pod is evicted
//	evict              EvictPlugin              carries an eviction out; exactly one per profile
//	controller         ControllerPlugin         runs from the start to the end of the process
//
// What a plugin sees of the cluster is a Snapshot: one picture for a whole
// cycle, in a fixed order, without the pods that were evicted in that cycle. So
// equal input gives equal evictions.
//
// Read in this order:
//
//	plugin.go    the kinds of plugins
//	reporters.go what an evict plugin may be besides
//	evictor.go   Evictor and EvictOptions: how a plugin has a pod evicted
//	supplied.go  Supplied: a plugin of an Evictor
//	errors.go    why an eviction did not happen, and what a plugin does then
//	handle.go    Handle: what a plugin is given
//	registry.go  Registry and Definition: what plugins there are
//	typed.go     Typed: a Definition with arguments of one type
//	snapshot.go  Snapshot: the cluster as one cycle sees it
//	owners.go    which pods belong together
//	cost.go      what owners say that an eviction costs
//	optional.go  what a Landing, an evictor or a Usage may offer besides
package framework
