// Package compare has groups of pods placed by kube-scheduler 1.37 and by the core, in one program, and prints how fast each is, how many
// pods start, and which pods end to make room for others. Kube-scheduler runs whole in this process, with an API server in memory; of this
// scheduler the core runs alone. The row of plain pods shows what all the rest costs kube-scheduler. Play it with
//
//	make compare-groups
//
// It is behind the build tag compare, since kube-scheduler takes minutes to compile.
package compare
