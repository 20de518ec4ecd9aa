package worlds

// lawBooks says that Verify finds nothing, and that what views show is what a reader of events
// knows.
const lawBooks = "the books agree"

func booksAgree(g *game) []failure {
	if err := g.p.Verify(); err != nil {
		return []failure{{Cause: "Verify", Detail: err.Error()}}
	}
	if err := g.books.Agree(g.p.View()); err != nil {
		return []failure{{Cause: "events and views", Detail: err.Error()}}
	}
	return nil
}
