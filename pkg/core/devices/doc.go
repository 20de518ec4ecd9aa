// Package devices says which node to take for an ask where nodes have devices, such as GPUs,
// so that as much as possible of them can be used.
//
// A resource kind that comes in devices is a sum for the rest of the core: a node with eight
// GPUs has gpu=8000, and an ask for a third of one wants gpu=333. The sum does not say whether
// an ask fits: two devices with 400 free each have no room for 600. Whether it does is for the
// resource manager to say. What is here is only an order of nodes: a Table is how the devices
// of a node may be used by what runs there, and Cost is what an ask would waste on a node.
//
// Two things are waste. What is left of a device by a share is of use only to smaller shares;
// so the device that is left with least is taken. And devices are of no use if the node has no
// processors or memory left for what would use them; so nodes are avoided on which an ask would
// leave such devices. The idea to count what cannot be used any more, and to keep it small, is that
// of fragmentation gradient descent (Weng and others, Beware of Fragmentation, USENIX ATC 2023).
// That work counts with the asks that are usual in a cluster; here a node counts with its own
// proportions, so there is nothing to learn.
package devices
