// Package resources counts resources: quantities of kinds such as vcore, memory
// or a GPU.
//
// A Kinds table gives every kind a small number. So quantities are dense vectors,
// and a fit check is a few integer comparisons. There are two types of vectors,
// because a missing kind has two different meanings:
//
//   - Amounts, where a missing kind is zero: what an allocation needs, what a
//     node has, what a queue uses;
//   - Limits, where a missing kind is unlimited: what a queue may use.
//
// Arithmetic saturates at the ends of int64. A Sum is exact beyond them: the books of what
// runs and what waits are sums, so that no amounts are too large to be counted. Shares are compared exactly, by
// cross-multiplication in 128 bits. No result depends on the number of a kind,
// only on its name.
//
// Read in this order: kinds.go and sharedkinds.go, amounts.go, sum.go, limits.go, share.go, parse.go, readable.go.
package resources
