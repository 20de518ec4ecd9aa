package feasibility

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// A cluster is what the plugins look at: the nodes with the pods that are counted
// there. A NodeInfo in it is never changed, a change puts a copy in its place. So a
// goroutine that holds one can go on reading it while the cluster changes. The maps and
// lists are changed in place.
//
//	each pod of pods is on the NodeInfo of its node, and on no other
//	nodes    = the NodeInfos of infos that have a node object
//	bare     = the same nodes, without pods
//	claims   = for each claim, how many pods of pods use it
//	labelled = for each label, the pods of pods that have it
//	against  = for each label, the pods of pods with a term of required anti-affinity
//	           that matches only pods with such a label
//
// The images of a node are left out, as only scores look at them.
type cluster struct {
	infos    map[string]*framework.NodeInfo // also nodes that are not known, but have pods
	nodes    nodeSet
	bare     nodeSet
	pods     podSet
	claims   map[string]int
	labelled labelIndex
	against  labelIndex
	revision uint64 // counts changes of infos
	groups   podGroups
	noPodGroups

	// What List and HavePodsWithRequiredAntiAffinityList return during a view.
	listView       []fwk.NodeInfo
	separatingView []fwk.NodeInfo
}

var (
	_ fwk.SharedLister      = (*cluster)(nil)
	_ fwk.NodeInfoLister    = (*cluster)(nil)
	_ fwk.StorageInfoLister = (*cluster)(nil)
)

func newCluster() *cluster {
	return &cluster{
		infos:    make(map[string]*framework.NodeInfo),
		nodes:    newNodeSet(),
		bare:     newNodeSet(),
		pods:     make(podSet),
		claims:   make(map[string]int),
		labelled: make(labelIndex),
		against:  make(labelIndex),
		groups:   make(podGroups),
	}
}

// setNode adds a node or replaces its object. Pods that came before it are on it.
func (c *cluster) setNode(node *v1.Node) {
	next := c.copyOf(node.Name)
	next.SetNode(node)
	c.replace(node.Name, next)
}

// removeNode forgets the object of a node. Its pods stay counted, and are on the node
// if it comes back.
func (c *cluster) removeNode(name string) {
	if c.infos[name] == nil {
		return
	}
	next := c.copyOf(name)
	next.RemoveNode()
	c.replace(name, next)
}

// setPod counts a pod on its node in place of the one with the same UID, if there is
// one. With nil, the pod is counted no more.
func (c *cluster) setPod(uid types.UID, pod *v1.Pod) {
	last := c.counted(uid)
	if last != nil {
		c.count(last, -1)
		c.index(c.pods[uid], false)
		delete(c.pods, uid)
	}
	if last != nil && (pod == nil || pod.Spec.NodeName != last.Spec.NodeName) {
		next := c.copyOf(last.Spec.NodeName)
		takeOff(next, last)
		c.replace(last.Spec.NodeName, next)
		last = nil
	}
	if pod == nil {
		return
	}
	next := c.copyOf(pod.Spec.NodeName)
	if last != nil {
		takeOff(next, last)
	}
	// An error is about terms that cannot be read. The pod counts without them.
	info, _ := framework.NewPodInfo(pod)
	next.AddPodInfo(info)
	c.replace(pod.Spec.NodeName, next)
	c.pods[uid] = info
	c.index(info, true)
	c.count(pod, 1)
}

// counted is what is counted of a pod, or nil.
func (c *cluster) counted(uid types.UID) *v1.Pod {
	if info := c.pods[uid]; info != nil {
		return info.Pod
	}
	return nil
}

// count adds to the number of pods that use the claims of this pod.
func (c *cluster) count(pod *v1.Pod, sign int) {
	for i := range pod.Spec.Volumes {
		claim := pod.Spec.Volumes[i].PersistentVolumeClaim
		if claim == nil {
			continue
		}
		key := framework.GetNamespacedName(pod.Namespace, claim.ClaimName)
		if c.claims[key] += sign; c.claims[key] == 0 {
			delete(c.claims, key)
		}
	}
}

// copyOf is a copy of a node that may be changed, or a new one.
func (c *cluster) copyOf(name string) *framework.NodeInfo {
	if info := c.infos[name]; info != nil {
		return info.SnapshotConcrete()
	}
	return framework.NewNodeInfo()
}

// replace puts a changed copy of a node in its place.
func (c *cluster) replace(name string, next *framework.NodeInfo) {
	c.revision++
	known := next.Node() != nil
	if known || len(next.Pods) > 0 {
		c.infos[name] = next
	} else {
		delete(c.infos, name)
	}
	c.nodes.set(name, next, known)
	if known {
		c.bare.set(name, &nodeView{NodeInfo: next}, true)
	} else {
		c.bare.set(name, nil, false)
	}
}

// change counts pods for a while, and others not. It returns what undoes that. A pod
// that is added is on the node.
func (c *cluster) change(node string, add, remove []*v1.Pod) (undo func()) {
	before := make(map[types.UID]*v1.Pod, len(add)+len(remove))
	note := func(uid types.UID) {
		if _, noted := before[uid]; !noted {
			before[uid] = c.counted(uid)
		}
	}
	for _, pod := range remove {
		note(pod.UID)
		c.setPod(pod.UID, nil)
	}
	for _, pod := range add {
		note(pod.UID)
		c.setPod(pod.UID, on(pod, node))
	}
	return func() {
		for uid, pod := range before {
			c.setPod(uid, pod)
		}
	}
}

// NodeInfos implements fwk.SharedLister.
func (c *cluster) NodeInfos() fwk.NodeInfoLister { return c }

// PodGroups implements fwk.SharedLister.
func (c *cluster) PodGroups() fwk.PodGroupLister { return c.groups }

// StorageInfos implements fwk.SharedLister.
func (c *cluster) StorageInfos() fwk.StorageInfoLister { return c }

// List is all nodes, or those of a view.
func (c *cluster) List() ([]fwk.NodeInfo, error) {
	if c.listView != nil {
		return c.listView, nil
	}
	return c.nodes.list, nil
}

// HavePodsWithAffinityList is not asked for by filters, but by scores.
func (c *cluster) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return nil, errors.New("there are no scores here")
}

// HavePodsWithRequiredAntiAffinityList is the nodes of a view with pods that have
// required anti-affinity.
func (c *cluster) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return c.separatingView, nil
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList is asked for with a gate alone that nothing here opens.
func (c *cluster) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return nil, errors.New("InterPodAffinityHostnameFastPath is not supported")
}

// Get is one node.
func (c *cluster) Get(name string) (fwk.NodeInfo, error) {
	if info := c.node(name); info != nil {
		return info, nil
	}
	return nil, ErrUnknownNode
}

// IsPVCUsedByPods says whether a pod that is counted uses a claim, by namespace/name.
func (c *cluster) IsPVCUsedByPods(key string) bool { return c.claims[key] > 0 }

// node is one node, or nil.
func (c *cluster) node(name string) *framework.NodeInfo {
	if info := c.infos[name]; info != nil && info.Node() != nil {
		return info
	}
	return nil
}

// noPodGroups are the listers of fwk.SharedLister that know no group of pods: groups are the business of the core, but for their claims.
type noPodGroups struct{}

var errNoPodGroups = errors.New("groups of pods are not kept here")

func (noPodGroups) PodGroupStates() fwk.PodGroupStateLister { return noGroups[fwk.PodGroupState]{} }

func (noPodGroups) PodGroups() fwk.PodGroupLister { return noGroups[*schedulingv1beta1.PodGroup]{} }

func (noPodGroups) CompositePodGroupStates() fwk.CompositePodGroupStateLister {
	return noGroups[fwk.CompositePodGroupState]{}
}

func (noPodGroups) CompositePodGroups() fwk.CompositePodGroupLister {
	return noGroups[*schedulingv1alpha3.CompositePodGroup]{}
}

// noGroups is a lister of nothing.
type noGroups[T any] struct{}

// Get implements the listers of groups.
func (noGroups[T]) Get(string, string) (none T, err error) { return none, errNoPodGroups }

// takeOff takes a pod off a copy of its node.
func takeOff(info *framework.NodeInfo, pod *v1.Pod) {
	if err := info.RemovePod(klog.Background(), pod); err != nil {
		panic(fmt.Sprintf("pod %s/%s is counted on node %q but is not there: %v",
			pod.Namespace, pod.Name, pod.Spec.NodeName, err))
	}
	// The ports of a NodeInfo are a set. If pods share one, which no node starts but other
	// schedulers may bind, it is still in use.
	if len(util.GetHostPorts(pod)) == 0 {
		return
	}
	for _, other := range info.Pods {
		for _, port := range util.GetHostPorts(other.GetPod()) {
			info.UsedPorts.Add(port.HostIP, string(port.Protocol), port.HostPort)
		}
	}
}

// on is the pod as it would be on a node.
func on(pod *v1.Pod, node string) *v1.Pod {
	if pod.Spec.NodeName == node {
		return pod
	}
	placed := *pod
	placed.Spec.NodeName = node
	return &placed
}
