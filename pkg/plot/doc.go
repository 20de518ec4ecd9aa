// Package plot draws charts as inline SVG, for pages without scripts and without a network.
// They have the colours of the reader, light or dark, and are drawn for wide and for narrow
// screens.
//
// Read in this order:
//
//	chart.go   a chart: lines, stacked areas, moments that are marked
//	axis.go    where values are on an axis, and its ticks
//	bars.go    a bar for each of several numbers
//	scale.go   round numbers
//	style.css  the style of charts and of the page around them
package plot
