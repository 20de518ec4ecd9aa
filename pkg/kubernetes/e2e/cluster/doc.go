// Package cluster runs a real control plane on this machine: etcd, kube-apiserver and
// kube-controller-manager, and whatever else is launched next to them. Everything listens
// on the loopback address alone, on ports that were free.
//
//	cluster.go      Start, and what each part is started with
//	process.go      one program: its log, its end, pause and continue
//	authority.go    certificates and the key of service accounts
//	credentials.go  how clients connect: as administrator, or as a service account
//	ready.go        when a part has started
//	store.go        pods that are older than the cluster
//
// There are no nodes in it: package kubelet plays them. Package programs has the programs.
package cluster
