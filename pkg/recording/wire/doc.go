// Package wire makes bytes of plain values, such as commands, and values of bytes, and digests of values, such as events
// and views. It follows pointers and knows nothing of values that share any: an image of a whole partition is made by package image.
//
// Read in this order: writer.go, reader.go, coder.go how a type is kept, kinds.go for each kind of type.
package wire
