// Package e2e plays scenarios against a real API server: what a cluster with a scheduler
// does, from the outside. Each scenario has a control plane of its own and runs with
// kube-scheduler and with narwhal-scheduler; that both pass shows that a failure is not of
// the test.
//
//	scenarios_test.go    the table of all scenarios; begin here
//	world.go             a control plane, kubelets and a scheduler for one scenario
//	verbs.go             what a scenario does: add nodes, create pods, restart
//	objects.go           pods, deployments, jobs, daemonsets
//	await.go             waiting, through watches, with a deadline and a last sight
//	conditions.go        what can be awaited
//	laws.go              what must hold in the end of every scenario
//	books.go             the books of the scheduler against the pods of the API server; pure
//	schedulers.go        what can be tested: a program, or a function of this process
//	shipped.go           narwhal-scheduler as the manifests install it, and kubectl
//	serving.go           pages of programs that run
//	descheduler.go       the descheduler as a program, with its roles, pages and requests
//	clusterfile.go       the cluster of a file of the descheduler, of which documents print reports
//	metrics.go           a stand-in for metrics-server
//	bindingwebhook.go    a webhook that refuses bindings
//
//	cluster              the control plane
//	kubelet              a stand-in for the kubelets, with annotations that steer pods
//	programs             builds the control plane from Go modules; make e2e calls it
//	tools                the versions of those modules
//
// The scenarios run with make e2e. Without it the test skips them and says so. make test-long
// plays a short form of them, with narwhal-scheduler alone, where the programs are built. One
// scenario alone, with the logs kept:
//
//	E2E=1 go test ./e2e -v -run TestScenarios/narwhal/job -artifacts -outputdir DIRECTORY
//
// TestThroughput and TestRestart are no scenarios but measurements, which are made only when asked for:
//
//	E2E=1 go test ./e2e -v -run 'TestThroughput|TestRestart' -throughput-nodes 1000 -throughput-pods 5000
package e2e
