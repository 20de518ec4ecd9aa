package feasibility

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// deviceViews are what the plugin of devices sees of claims. While the cluster is changed in thought, the devices of
// pods that are removed are free, and those that pods which are added would get are taken.
//
// Which devices these would be the plugin says itself, asked as for a pod that is bound. A second one is asked, so that
// what is reserved in thought does not mix with what is reserved.
type deviceViews struct {
	fwk.SharedDRAManager
	holders *claimHolders

	// Both are guarded by the lock of the checker, which is held while a plugin reads which devices are taken.
	free, taken []*resourcev1.ResourceClaim

	reserving *sync.Mutex   // of the checker
	binding   types.UID     // the pod of which claims are reserved now, and
	starts    string        // what it shares; both guarded by reserving
	inThought devicesPlugin // nil if the profile leaves the plugin out
	itself    claimsPlugin  // the plugin itself; nil as well
	thought   []*resourcev1.ResourceClaim

	allFree bool                             // no device is taken, for anywhere; guarded by the lock of the checker
	changed atomic.Uint64                    // counts changes of devices and their classes
	reaches *simplelru.LRU[types.UID, reach] // by claim; guarded by the lock of the checker

	shared atomic.Pointer[map[types.UID]*resourcev1.ResourceClaim] // what the pod that is asked about sees as allocated; nil for no pod
}

// A devicesPlugin is the plugin of devices, as far as it is asked in thought.
type devicesPlugin interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
	fwk.ReservePlugin
	fwk.ScorePlugin
}

// A claimsPlugin is the plugin of devices, as far as it is asked by itself: it frees claims, and writes them.
type claimsPlugin interface {
	fwk.PostFilterPlugin
	fwk.PreBindPlugin
}

// ResourceClaims implements fwk.SharedDRAManager.
func (d *deviceViews) ResourceClaims() fwk.ResourceClaimTracker {
	return &claimTracker{d.SharedDRAManager.ResourceClaims(), d}
}

// register has the plugin of devices made twice.
func (d *deviceViews) register(registry frameworkruntime.Registry) {
	features := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	features.EnableDRAWorkloadResourceClaims = true // there are none where the API server does not serve them
	of := frameworkruntime.FactoryAdapter(features, dynamicresources.New)
	registry[names.DynamicResources] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		second, err := of(ctx, args, &handleInThought{indexing(handle), &devicesInThought{d}})
		if err != nil {
			return nil, err
		}
		d.inThought, _ = second.(devicesPlugin)
		first, err := of(ctx, args, indexing(handle))
		d.itself, _ = first.(claimsPlugin)
		return first, err
	}
}

// change has devices be free or taken that pods leave which are removed from a node, or would get which are added, until
// undo. By is the pod that is asked about.
func (d *deviceViews) change(by *v1.Pod, on *framework.NodeInfo, add, remove []*v1.Pod) (undo func()) {
	d.free = d.holders.leftBy(remove, by)
	for _, pod := range add {
		if on != nil && d.inThought != nil && (len(pod.Spec.ResourceClaims) > 0 || asksForExtended(pod)) {
			d.taken = append(d.taken, d.claimsOf(pod, on)...)
		}
	}
	return func() { d.free, d.taken = nil, nil }
}

// claimsOf are the claims that a pod would have allocated on a node. They are none if it cannot run there.
func (d *deviceViews) claimsOf(pod *v1.Pod, on *framework.NodeInfo) []*resourcev1.ResourceClaim {
	ctx, state := context.Background(), framework.NewCycleState()
	defer d.sharing(pod)()
	if _, status := d.inThought.PreFilter(ctx, state, pod, nil); !status.IsSuccess() {
		return nil
	}
	return d.given(ctx, state, pod, on)
}

// given is claimsOf after PreFilter.
func (d *deviceViews) given(ctx context.Context, state fwk.CycleState, pod *v1.Pod, on *framework.NodeInfo) []*resourcev1.ResourceClaim {
	if !d.inThought.Filter(ctx, state, pod, on).IsSuccess() {
		return nil
	}
	d.thought = nil
	d.inThought.Reserve(ctx, state, pod, on.Node().Name) // an error is about what was not allocated
	return d.thought
}

// sharing has claims be seen as allocated, until undo: those that other pods would get which are added in thought, and those of pods that
// are being bound and share theirs with the pod.
func (d *deviceViews) sharing(pod *v1.Pod) (undo func()) {
	if len(pod.Spec.ResourceClaims) == 0 {
		return func() {}
	}
	shared := d.holders.startingWith(d.sharesWith(pod))
	for _, claim := range d.taken {
		shared[claim.UID] = claim
	}
	d.shared.Store(&shared)
	return func() { d.shared.Store(nil) }
}

// claimsAsTheyAre visits the claims that a pod names and that are known, whatever is thought.
func (d *deviceViews) claimsAsTheyAre(pod *v1.Pod) iter.Seq[*resourcev1.ResourceClaim] {
	return func(yield func(*resourcev1.ResourceClaim) bool) {
		for name := range claimsNamed(pod) {
			if claim, err := d.SharedDRAManager.ResourceClaims().Get(pod.Namespace, name); err == nil && !yield(claim) {
				return
			}
		}
	}
}

// A claimTracker is the claims that there are, with what is free and taken in thought.
type claimTracker struct {
	fwk.ResourceClaimTracker
	*deviceViews
}

// Get implements fwk.ResourceClaimTracker.
func (t *claimTracker) Get(namespace, name string) (*resourcev1.ResourceClaim, error) {
	claim, err := t.ResourceClaimTracker.Get(namespace, name)
	if shared := t.shared.Load(); err == nil && shared != nil && claim.Status.Allocation == nil {
		if is := (*shared)[claim.UID]; is != nil {
			return is, nil
		}
	}
	return claim, err
}

// ListAllAllocatedDevices implements fwk.ResourceClaimTracker.
func (t *claimTracker) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	if t.allFree {
		return sets.New[structured.DeviceID](), nil
	}
	taken, err := unchanged(t.ResourceClaimTracker.ListAllAllocatedDevices)
	if err != nil {
		return nil, err
	}
	change := noneTaken(taken)
	t.apply(change)
	return change.AllocatedDevices, nil
}

// GatherAllocatedState implements fwk.ResourceClaimTracker.
func (t *claimTracker) GatherAllocatedState() (*structured.AllocatedState, error) {
	if t.allFree {
		return noneTaken(sets.New[structured.DeviceID]()), nil
	}
	state, err := unchanged(t.ResourceClaimTracker.GatherAllocatedState)
	if err == nil {
		t.apply(state)
	}
	return state, err
}

// noneTaken is a state in which nothing is taken but some whole devices.
func noneTaken(but sets.Set[structured.DeviceID]) *structured.AllocatedState {
	return &structured.AllocatedState{
		AllocatedDevices: but, AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](), AggregatedCapacity: structured.NewConsumedCapacityCollection(),
	}
}

// readingsMax is how often what changed while it was read is read again at once.
const readingsMax = 100

// unchanged reads again what fails because claims changed meanwhile. The plugin would pause before that, with the cluster locked.
func unchanged[T any](read func() (T, error)) (got T, err error) {
	for range readingsMax {
		if got, err = read(); err == nil {
			break
		}
	}
	return got, err
}

// apply changes a copy of which devices are taken.
func (t *claimTracker) apply(state *structured.AllocatedState) {
	for _, claim := range t.free {
		for _, device := range devicesOf(claim) {
			state.AllocatedDevices.Delete(device.id)
			if device.isShared {
				state.AllocatedSharedDeviceIDs.Delete(device.share)
				state.AggregatedCapacity.Remove(device.consumed)
			}
		}
	}
	for _, claim := range t.taken {
		for _, device := range devicesOf(claim) {
			if !device.isShared {
				state.AllocatedDevices.Insert(device.id)
				continue
			}
			state.AllocatedSharedDeviceIDs.Insert(device.share)
			state.AggregatedCapacity.Insert(device.consumed)
		}
	}
}

// A heldDevice is a device of a claim, or a share of one.
type heldDevice struct {
	id       structured.DeviceID
	isShared bool
	share    structured.SharedDeviceID
	consumed structured.DeviceConsumedCapacity
}

// devicesOf are the devices of a claim, but for those to which it has administrative access only.
func devicesOf(claim *resourcev1.ResourceClaim) (all []heldDevice) {
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		device := heldDevice{id: structured.MakeDeviceID(result.Driver, result.Pool, result.Device), isShared: result.ShareID != nil}
		if device.isShared {
			device.share = structured.MakeSharedDeviceID(device.id, result.ShareID)
			device.consumed = structured.NewDeviceConsumedCapacity(device.id, result.ConsumedCapacity)
		}
		all = append(all, device)
	}
	return all
}

// SignalClaimPendingAllocation implements fwk.ResourceClaimTracker.
func (t *claimTracker) SignalClaimPendingAllocation(uid types.UID, claim *resourcev1.ResourceClaim) error {
	t.holders.begin(t.binding, t.starts, claim, uid)
	return t.ResourceClaimTracker.SignalClaimPendingAllocation(uid, claim)
}

// MaybeRemoveClaimPendingAllocation implements fwk.ResourceClaimTracker. It is forced when the API server has the claim. One that a plugin
// has read before, to reserve it for another pod too, is in flight until it has done so.
func (t *claimTracker) MaybeRemoveClaimPendingAllocation(uid types.UID, force bool) bool {
	if force {
		t.reserving.Lock()
		defer t.reserving.Unlock()
	}
	removed := t.ResourceClaimTracker.MaybeRemoveClaimPendingAllocation(uid, force)
	if removed {
		t.holders.end(uid)
	}
	return removed
}

// handleInThought gives the second plugin its view of devices.
type handleInThought struct {
	fwk.Handle
	devices fwk.SharedDRAManager
}

// SharedDRAManager implements fwk.Handle.
func (h *handleInThought) SharedDRAManager() fwk.SharedDRAManager { return h.devices }

// handleIndexing has a plugin name its index of pods otherwise than those that share the informers.
type handleIndexing struct {
	fwk.Handle
	name string
}

// ProfileName implements fwk.Handle.
func (h *handleIndexing) ProfileName() string { return h.name }

// indexing is a handle whose profile has a name after which no index of pods is named yet.
func indexing(handle fwk.Handle) fwk.Handle {
	taken := handle.SharedInformerFactory().Core().V1().Pods().Informer().GetIndexer().GetIndexers()
	name := handle.ProfileName()
	for i := 2; ; i++ {
		isTaken := false
		for key := range taken {
			isTaken = isTaken || strings.HasSuffix(key, "-"+name)
		}
		if !isTaken {
			return &handleIndexing{handle, name}
		}
		name = fmt.Sprint(handle.ProfileName(), "-", i)
	}
}

// devicesInThought notes claims that are allocated, and changes nothing.
type devicesInThought struct{ *deviceViews }

// ResourceClaims implements fwk.SharedDRAManager.
func (d *devicesInThought) ResourceClaims() fwk.ResourceClaimTracker {
	return &trackerInThought{claimTracker{d.SharedDRAManager.ResourceClaims(), d.deviceViews}}
}

type trackerInThought struct{ claimTracker }

// SignalClaimPendingAllocation implements fwk.ResourceClaimTracker.
func (t *trackerInThought) SignalClaimPendingAllocation(_ types.UID, claim *resourcev1.ResourceClaim) error {
	t.thought = append(t.thought, claim)
	return nil
}

// DevicePoints says how well the devices of nodes suit a pod of which a claim has alternatives: the earlier ones that it
// would get on a node, the more points. A node where it would get none has none. It is nil if no claim of the pod has
// alternatives, or nothing is known of them yet.
func (c *Checker) DevicePoints(pod *v1.Pod, nodes []string) []int64 {
	if c.views == nil || c.views.inThought == nil || !c.hasAlternatives(pod) {
		return nil
	}
	ctx, state, plugin := context.Background(), framework.NewCycleState(), c.views.inThought
	c.mu.Lock()
	undo := c.views.sharing(pod)
	_, status := plugin.PreFilter(ctx, state, pod, nil)
	undo()
	infos := c.lookUp(nodes)
	c.mu.Unlock()
	if !status.IsSuccess() {
		return nil
	}
	fits := make([]bool, len(nodes))
	inParallel(c.workers, len(nodes), func(i int) {
		fits[i] = infos[i] != nil && plugin.Filter(ctx, state, pod, infos[i]).IsSuccess()
	})
	points := make([]int64, len(nodes))
	for i := range points {
		if fits[i] {
			points[i], _ = plugin.Score(ctx, state, pod, infos[i]) // zero with an error
		}
	}
	return points
}

// hasAlternatives reports whether a claim of a pod that has no devices yet is content with one of several things.
func (c *Checker) hasAlternatives(pod *v1.Pod) bool {
	for claim := range c.views.claimsAsTheyAre(pod) {
		if claim.Status.Allocation == nil && slices.ContainsFunc(claim.Spec.Devices.Requests, isList) {
			return true
		}
	}
	return false
}

func isList(request resourcev1.DeviceRequest) bool { return len(request.FirstAvailable) > 1 }
