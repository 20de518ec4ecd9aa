// Package scenario runs tests that are written as texts: commands to a
// core.Partition, and what came out of each.
//
// A scenario is a list of steps. A step is one or more commands, each at the start
// of a line, then four dashes, then what the commands put out, up to an empty
// line:
//
//	# Two cores are free and one is asked for.
//	ask web-1 application=shop vcore=1
//	schedule
//	----
//	placed web-1 on n1
//
// A command is a verb, the name it is about, arguments key=value and flags. It
// may be given several names, one on each of the indented lines below it; what
// stands beside the verb then holds for every line. Where the verb takes a
// text, such as YAML, the indented lines are that text. Lines that start with #
// are comments: sentences that predict the output of the step. Quantities are
// written as in a configuration, 500m or 10Gi; text with spaces goes in quotes.
// Nothing that is written is ignored: an unknown verb, an argument the verb
// does not read, or a step without dashes fails the test.
//
// Time is virtual. It starts at 0s, stands still during a step, and is moved by
// advance alone, which calls Schedule whenever the partition says it is due.
// Nothing else schedules but the verb schedule. After every command the books
// are verified, and every scenario is played twice to see that it comes out the
// same.
//
// lines.go writes commands as such lines. The verbs, in verbs.go, manager_verbs.go and display.go:
//
//	config                       the configuration, as YAML; without it, root.default;
//	                             batch=, settle=5s, unused=1h, and other settings
//	kinds K...                   resource kinds whose names have no slash
//	reconfigure                  another configuration
//	node N vcore=8               a node; attributes=zone:a, drained
//	update node N vcore=4        other capacity, or other attributes
//	drain N, undrain N           keep new allocations off a node, or not
//	remove node N
//	application A queue=root.q   user=, groups=, tags=, created=, forced; of a gang:
//	                             vcore=8 of all placeholders, timeout=15m, hard
//	update application A         tags=, quota=
//	remove application A
//	ask K application=A vcore=1  priority=, created=, required=N, group=,
//	                             placeholder, originator, owner, tags=, tag.NAME=,
//	                             allow-preempt-self=, allow-preempt-other=,
//	                             qos=BestEffort, grace=60s;
//	                             with node=N it runs already
//	foreign K node=N vcore=1     an allocation of another scheduler; static, owner,
//	                             priority=, created=, required=N, tags=, tag.NAME=
//	resize K vcore=2             K as last sent, with other amounts
//	release K                    type=, message=; application=A alone for all of A
//	confirm K                    the allocation K has ended that was evicted, or that
//	                             was to end because of its gang
//	schedule                     until there is no more to do
//	advance 30s
//	refuse K N "text"            from now on K may not run on N; * for any; passing, if
//	                             that may change as others end
//	allow K N                    takes a refusal back
//	conflict K L                 K and L may not run on the same node
//	need K L                     K may run only where L does
//	budget B allowed=1           a disruption budget of the allocations below it;
//	                             evictions count against it
//	choose K V...                the resource manager chooses the victims V for the
//	                             ask K, and none for other asks
//	alike C K...                 a refusal of one of the asks, later, is one of all
//	tied K C...                  answers of these classes change when K comes or goes
//	best K N...                  the nodes that suit K best, the best first
//	show nodes [N...]            with what runs on them
//	show queues, applications, asks, foreign, due
//	show plan K                  the last plan to make room for the ask K
//	show attempts K              the last preemption attempts for K: what nodes there
//	                             are, and the victims on the best of them
//	show excess                  queues over their max, and the plans to free quota
//	show victims                 how many allocations were evicted, by trigger, and
//	                             what became of nominations
//	show preempted               what was counted
//	show events                  those of this step and since the last look
//
// What comes out are decisions, one line each, in the order in which the
// resource manager hears them. A step without any puts out nothing, in one
// word. With the flag -update the outputs are written into the files; a
// difference that the sentence above the step does not explain is a bug.
package scenario
