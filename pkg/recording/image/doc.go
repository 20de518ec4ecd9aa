// Package image makes an exact copy of a partition that can be kept in a file: all that it holds, what it has learnt
// and what no view shows. A partition that is restored from it decides as the other would have.
//
// An image is the objects that can be reached from the partition, by their types, with references instead of
// pointers. Only a program in which these types are the same can read it, which Layout tells. Functions are no part of
// an image: those of api.Options are given anew, those that sort trees are known by their names.
//
// Read in this order:
//
//	pattern.go  what the types of a partition look like
//	scan.go     all objects, each once; places.go, by where they are
//	write.go    objects become bytes
//	read.go     bytes become objects; values.go one value of an object; check.go whether a reference may be one
package image
