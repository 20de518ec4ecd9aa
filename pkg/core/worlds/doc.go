// Package worlds is one random world for the core, and the laws that hold in it. It has tests
// only. It sees commands, events, views and Verify, so that it outlives what is inside the core.
//
// Read in this order:
//
//	world_test.go     what a world is: queues, nodes, pods, answers, changes
//	maker_test.go     worlds that come to rest; streams_test.go those in which pods come again
//	changes_test.go   nodes that come and go, restarts, pods that change
//	members_test.go   limits, quorums, gangs; ways, quota, foreign and answers_test.go the rest
//	play_test.go      the player: time, the resource manager, and what events tell
//	oracle_test.go    what may be a victim, and every set of them; kept_test.go room that is kept
//	laws_test.go      the table of laws, each of which has a file law_*_test.go
//	reduce_test.go    makes a world that breaks a law small; script_test.go prints it as a scenario
//	worlds_test.go    plays them; small_test.go plays everything that may happen in small ones
//	views_test.go     the oracle for what a view shows, with faults_test.go for the simulator
package worlds
