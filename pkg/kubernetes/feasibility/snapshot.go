package feasibility

import (
	"sync"
	"sync/atomic"

	fwk "k8s.io/kube-scheduler/framework"
)

// A snapshot is what plugins that are none of kube-scheduler's see of nodes and pods: those look at all of them, at any time, and
// not only while a view is made for them. It is made anew when such plugins are asked about a pod and something has changed.
type snapshot struct {
	noPodGroups
	made atomic.Pointer[listed]
}

// listed are the nodes of one moment. It is never changed.
type listed struct {
	revision uint64 // of the cluster
	nodes    []fwk.NodeInfo
	byName   func() map[string]fwk.NodeInfo
}

var (
	_ fwk.SharedLister      = (*snapshot)(nil)
	_ fwk.NodeInfoLister    = (*listed)(nil)
	_ fwk.StorageInfoLister = (*listed)(nil)
)

func newSnapshot() *snapshot {
	s := new(snapshot)
	s.made.Store(&listed{byName: func() map[string]fwk.NodeInfo { return nil }})
	return s
}

// take takes the cluster as it is, which is locked.
func (s *snapshot) take(c *cluster) *listed {
	if made := s.made.Load(); made.revision == c.revision {
		return made
	}
	l := &listed{revision: c.revision, nodes: append([]fwk.NodeInfo{}, c.nodes.list...)}
	l.byName = sync.OnceValue(func() map[string]fwk.NodeInfo {
		names := make(map[string]fwk.NodeInfo, len(l.nodes))
		for _, n := range l.nodes {
			names[n.Node().Name] = n
		}
		return names
	})
	s.made.Store(l)
	return l
}

// NodeInfos implements fwk.SharedLister.
func (s *snapshot) NodeInfos() fwk.NodeInfoLister { return s.made.Load() }

// StorageInfos implements fwk.SharedLister.
func (s *snapshot) StorageInfos() fwk.StorageInfoLister { return s.made.Load() }

// List is all nodes.
func (l *listed) List() ([]fwk.NodeInfo, error) { return l.nodes, nil }

// HavePodsWithAffinityList is the nodes with pods that have affinity.
func (l *listed) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return l.with(func(n fwk.NodeInfo) bool { return len(n.GetPodsWithAffinity()) > 0 }), nil
}

// HavePodsWithRequiredAntiAffinityList is the nodes with pods that have required anti-affinity.
func (l *listed) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.with(func(n fwk.NodeInfo) bool { return len(n.GetPodsWithRequiredAntiAffinity()) > 0 }), nil
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList is the nodes with pods that have it between more than pods of one node.
func (l *listed) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.with(func(n fwk.NodeInfo) bool { return len(n.GetPodsWithRequiredNonHostScopedAntiAffinity()) > 0 }), nil
}

func (l *listed) with(has func(fwk.NodeInfo) bool) (some []fwk.NodeInfo) {
	for _, n := range l.nodes {
		if has(n) {
			some = append(some, n)
		}
	}
	return some
}

// Get is one node.
func (l *listed) Get(name string) (fwk.NodeInfo, error) {
	if n := l.byName()[name]; n != nil {
		return n, nil
	}
	return nil, ErrUnknownNode
}

// IsPVCUsedByPods says whether a pod on a node uses a claim, by namespace/name.
func (l *listed) IsPVCUsedByPods(key string) bool {
	for _, n := range l.nodes {
		if n.GetPVCRefCounts()[key] > 0 {
			return true
		}
	}
	return false
}
