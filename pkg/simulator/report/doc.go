// Package report writes what came out of a simulation as one self-contained
// page: no script, no network, plots as inline SVG, light or dark as the reader
// prefers, readable on a telephone.
//
// Read in this order:
//
//	page.go    Write, and what the template is filled with
//	plots.go   which plots there are, from the series of a result
//	chart.go   a chart over virtual time, as package plot draws it
//	scale.go   round times for axes
//	page.html  the template
package report
