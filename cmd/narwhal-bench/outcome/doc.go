// Package outcome is what came out of runs: medians and ratios, as a table, as JSON and as a
// page.
//
// Read in this order:
//
//	report.go  the results of all runs, and JSON
//	rows.go    medians, ranges and ratios
//	text.go    the table
//	page.go    the page, with plots of package plot
//	page.html  its template
package outcome
