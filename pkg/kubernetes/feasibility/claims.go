package feasibility

import (
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// claimHolders know which pods keep devices from others: those for which a claim is reserved, and those that are being
// bound, whose claims are reserved later. Each claim is known by its UID.
//
//	of[pod] = the claims of reserved that are reserved for the pod
type claimHolders struct {
	mu       sync.Mutex
	reserved map[types.UID]*resourcev1.ResourceClaim
	of       map[types.UID]map[types.UID]bool
	inFlight map[types.UID]claimInFlight
}

// A claimInFlight was allocated for a pod that is being bound, which the API server does not know yet. Others that start with it share it.
type claimInFlight struct {
	claim  *resourcev1.ResourceClaim
	pods   map[types.UID]bool
	starts string // what the first of them shares
}

func newClaimHolders() *claimHolders {
	return &claimHolders{
		reserved: map[types.UID]*resourcev1.ResourceClaim{},
		of:       map[types.UID]map[types.UID]bool{},
		inFlight: map[types.UID]claimInFlight{},
	}
}

// handler takes in what the cache of claims knows.
func (h *claimHolders) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { h.set(nil, now) },
		UpdateFunc: h.set,
		DeleteFunc: func(last any) { h.set(last, nil) },
	}
}

// set takes in a claim in place of what it was; nil is none.
func (h *claimHolders) set(before, now any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if claim, ok := pods.LastKnown(before).(*resourcev1.ResourceClaim); ok {
		h.drop(claim.UID)
	}
	claim, ok := now.(*resourcev1.ResourceClaim)
	if !ok || claim.Status.Allocation == nil || len(claim.Status.ReservedFor) == 0 {
		return
	}
	h.drop(claim.UID)
	h.reserved[claim.UID] = claim
	for _, consumer := range claim.Status.ReservedFor {
		if h.of[consumer.UID] == nil {
			h.of[consumer.UID] = map[types.UID]bool{}
		}
		h.of[consumer.UID][claim.UID] = true
	}
}

func (h *claimHolders) drop(uid types.UID) {
	claim := h.reserved[uid]
	if claim == nil {
		return
	}
	delete(h.reserved, uid)
	for _, consumer := range claim.Status.ReservedFor {
		if delete(h.of[consumer.UID], uid); len(h.of[consumer.UID]) == 0 {
			delete(h.of, consumer.UID)
		}
	}
}

// begin notes a claim of a pod that is being bound, and end that the API server has it, or that it was given up.
func (h *claimHolders) begin(pod types.UID, starts string, claim *resourcev1.ResourceClaim, uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, shares := h.inFlight[uid]; !shares {
		h.inFlight[uid] = claimInFlight{claim, map[types.UID]bool{}, starts}
	}
	h.inFlight[uid].pods[pod] = true
}

// startingWith are the claims, as they will be, of pods that are being bound and share theirs, by their UIDs.
func (h *claimHolders) startingWith(starts string) map[types.UID]*resourcev1.ResourceClaim {
	h.mu.Lock()
	defer h.mu.Unlock()
	shared := map[types.UID]*resourcev1.ResourceClaim{}
	for uid, f := range h.inFlight {
		if f.starts == starts && starts != "" {
			shared[uid] = f.claim
		}
	}
	return shared
}

func (h *claimHolders) end(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.inFlight, uid)
}

// anyOn reports whether any pod but one keeps devices on a node, of those that are counted there.
func (h *claimHolders) anyOn(node *framework.NodeInfo, but types.UID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	binding := map[types.UID]bool{}
	for _, f := range h.inFlight {
		maps.Copy(binding, f.pods)
	}
	for _, p := range node.Pods {
		if uid := p.GetPod().UID; uid != but && (len(h.of[uid]) > 0 || binding[uid]) {
			return true
		}
	}
	return false
}

// leftBy are the claims that are given back when some pods have ended: those that are reserved for nothing else. A claim
// that another pod names too is kept for that one, which takes its devices as they are.
func (h *claimHolders) leftBy(ended []*v1.Pod, by *v1.Pod) (left []*resourcev1.ResourceClaim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	gone := make(map[types.UID]bool, len(ended))
	for _, pod := range ended {
		gone[pod.UID] = pod.UID != by.UID
	}
	seen := map[types.UID]bool{}
	for pod, isGone := range gone {
		if !isGone {
			continue
		}
		for uid := range h.of[pod] {
			if claim := h.reserved[uid]; !seen[uid] && isOnlyFor(claim, gone) && !refersTo(by, claim) {
				left = append(left, claim)
			}
			seen[uid] = true
		}
	}
	for _, f := range h.inFlight {
		stays := false
		for pod := range f.pods {
			stays = stays || !gone[pod]
		}
		if !stays && !refersTo(by, f.claim) {
			left = append(left, f.claim)
		}
	}
	return left
}

// isOnlyFor reports whether a claim is reserved for some pods and for nothing else. A group of pods keeps it.
func isOnlyFor(claim *resourcev1.ResourceClaim, some map[types.UID]bool) bool {
	for _, consumer := range claim.Status.ReservedFor {
		if consumer.APIGroup != "" || consumer.Resource != "pods" || !some[consumer.UID] {
			return false
		}
	}
	return true
}

// refersTo reports whether a pod refers to a claim.
func refersTo(pod *v1.Pod, claim *resourcev1.ResourceClaim) bool {
	for name := range claimsNamed(pod) {
		if name == claim.Name && pod.Namespace == claim.Namespace {
			return true
		}
	}
	return false
}

// KeepsDevices reports whether a pod keeps devices from others. It does so for a moment after it has ended, until the
// controller of claims has given them back.
func (c *Checker) KeepsDevices(pod *v1.Pod) bool {
	return c.views != nil && c.views.holders.keeps(pod.UID)
}

func (h *claimHolders) keeps(pod types.UID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.of[pod]) > 0
}
