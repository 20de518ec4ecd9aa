package outcome

import "io"

// WritePage writes the report as a page.
func (r *Report) WritePage(to io.Writer) error { return r.WriteText(to) }
