// Package evictable has DefaultEvictor, which says which pods may be evicted at all.
//
//	args.go       the arguments, their defaults and what is wrong with them
//	evictor.go    the plugin: filter and pre-eviction filter
//	protected.go  the protections, one function each
package evictable
