package main

// Example runs the program. Six processes: two agents, backup, report, web, and report once more. The
// restart starts none.
func Example() {
	main()
	// Output:
	// agent-node-1 starts on node-1
	// agent-node-2 starts on node-2
	// report starts on node-1
	// report has to end
	// report ended on node-1
	// web starts on node-1
	// the manager restarts
	// backup ended on node-2
	// report starts on node-2
	// 6 processes were started
}
