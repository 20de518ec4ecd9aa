// Package compare plays one program on yunikorn-core and on the module that stands in for it, and compares what they do.
// Each difference is written down in testdata/differences.txt, with its row in docs/yunikorn.md. Play it with
//
//	make compare-yunikorn
//
// The program is in directory program. What it is built with is in go.mod, and in dropin.mod.
package compare
