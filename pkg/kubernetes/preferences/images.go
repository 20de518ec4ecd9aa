package preferences

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// images are the container images on nodes, each with the nodes that have it. A change of a node costs as many operations as it has images,
// and only the points of pods are worked out again that have one of those which came or went.
type images struct {
	byName  map[string]*image
	changes uint64
}

// An image is on some nodes.
type image struct {
	sizes   map[int32]int64 // bytes, by the slots of nodes
	changed uint64          // when it last came to a node or went; no two images changed at once
}

// What pods have of images counts from 23 MB on, and up to 1,000 MB for each image, as with kube-scheduler.
const (
	megabyte      int64 = 1 << 20
	imagesMin           = 23 * megabyte
	imagesMax           = 1000 * megabyte
	imageSizesMax       = int64(1) << 46 // larger ones count as this, so that no sum overflows
)

// setNode takes the images of a node in place of those of its state before; either may be nil. It says nothing and costs no memory
// where they are the same.
func (i *images) setNode(before, now *v1.Node, slot int32) {
	if i == nil {
		return
	}
	var old, list []v1.ContainerImage
	if before != nil {
		old = before.Status.Images
	}
	if now != nil {
		list = now.Status.Images
	}
	if slices.EqualFunc(old, list, func(a, b v1.ContainerImage) bool {
		return a.SizeBytes == b.SizeBytes && slices.Equal(a.Names, b.Names)
	}) {
		return
	}
	sizes := make(map[string]int64, 2*len(list)) // an image has two names, mostly
	for _, one := range list {
		for _, name := range one.Names {
			sizes[name] = min(max(one.SizeBytes, 0), imageSizesMax)
		}
	}
	for _, one := range old {
		for _, name := range one.Names {
			if _, stays := sizes[name]; !stays {
				i.remove(name, slot)
			}
		}
	}
	for name, size := range sizes {
		i.add(name, slot, size)
	}
}

func (i *images) add(name string, slot int32, size int64) {
	of := i.byName[name]
	if of == nil {
		of = &image{sizes: make(map[int32]int64)}
		i.byName[name] = of
	}
	if known, there := of.sizes[slot]; there && known == size {
		return
	}
	of.sizes[slot] = size
	i.changes++
	of.changed = i.changes
}

func (i *images) remove(name string, slot int32) {
	of := i.byName[name]
	if of == nil { // it was named twice
		return
	}
	if delete(of.sizes, slot); len(of.sizes) == 0 {
		delete(i.byName, name)
	}
	i.changes++
	of.changed = i.changes
}

// wanted are the images of the pods of a class.
type wanted struct {
	names   []string // as nodes name them; one is there as often as the pod has it
	changed []uint64 // of each when the points were worked out; 0: no node had it
	points  []int64  // by slot; nil: not worked out yet
	differ  bool     // not all nodes have the same
}

// imagesOf are the images of a pod.
func imagesOf(pod *v1.Pod) (names []string) {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			names = append(names, list[i].Image)
		}
	}
	for i := range pod.Spec.Volumes {
		if of := pod.Spec.Volumes[i].Image; of != nil {
			names = append(names, of.Reference)
		}
	}
	return names
}

func newWanted(pod *v1.Pod) (w wanted) {
	for _, name := range imagesOf(pod) {
		if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") { // the colon may be that of a port
			name += ":latest"
		}
		w.names = append(w.names, name)
	}
	w.changed = make([]uint64, len(w.names))
	return w
}

// rate works out the points of all nodes for a class, if an image of it has come to a node or gone from one since that was done last.
func (i *images) rate(w *wanted, nodes []*v1.Node, known int) {
	same := w.points != nil
	for at, name := range w.names {
		var changed uint64
		if of := i.byName[name]; of != nil {
			changed = of.changed
		}
		same = same && w.changed[at] == changed
		w.changed[at] = changed
	}
	if same || len(w.names) == 0 {
		return
	}
	w.points = slices.Grow(w.points[:0], len(nodes))[:len(nodes)]
	clear(w.points)
	for _, name := range w.names {
		if of := i.byName[name]; of != nil {
			for slot, size := range of.sizes {
				w.points[slot] += size * int64(len(of.sizes)) / int64(known)
			}
		}
	}
	most, least := int64(0), int64(pointsMax)
	for slot, bytes := range w.points {
		top := imagesMax * int64(len(w.names))
		w.points[slot] = pointsMax * (min(max(bytes, imagesMin), top) - imagesMin) / (top - imagesMin)
		if nodes[slot] != nil {
			most, least = max(most, w.points[slot]), min(least, w.points[slot])
		}
	}
	w.differ = most > least
}

// add adds the points of the nodes of a question.
func (w *wanted) add(on *scratch, weight int64) {
	for i, slot := range on.slots {
		on.total[i] += weight * w.points[slot]
	}
}
