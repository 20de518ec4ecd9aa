// Package accounting keeps the work of queues and users, by day, in a file of SQLite, so that it outlasts restarts. It is a
// package of its own, as it is the only one that needs a database:
//
//	kept, err := accounting.Open("accounting.db")
//	...
//	s, err := server.New(server.Config{Accounting: kept})
//
// What holds:
//
//   - What was added is in the file once, also if an attempt to write it seemed to fail and was made again.
//   - What cannot be written is kept in memory, added up, and written with what comes next.
//   - Everything is bounded: the rows in memory, the rows of a day, the days, and the file.
package accounting
