// Package shimtest runs the shim and the real scheduler core in a test, with an API server
// that is a table in memory.
//
// A MockScheduler lives in a bubble of testing/synctest, where time is virtual and
// everything settles before a verb returns:
//
//	synctest.Test(t, func(t *testing.T) {
//		m := shimtest.New(t, shimtest.Options{})
//		m.AddNode("node-1", "cpu=4 memory=8Gi")
//		m.Start()
//		m.AddPod("web", "cpu=1")
//		assert.Equal(t, m.Pod("web").Spec.NodeName, "node-1")
//	})
//
// The API server binds and deletes as a real one does: a binding is refused if the pod has
// a node or is another pod of the name, and a pod that has its node ends when the verb
// EndPod says so. It can be told to fail.
//
// Read in this order:
//
//	mock.go         MockScheduler: its verbs
//	api.go          the API server, and how it fails
//	objects.go      pods and nodes
//	feasibility.go  where pods may run
package shimtest
