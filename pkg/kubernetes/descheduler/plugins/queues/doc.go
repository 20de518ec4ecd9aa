// Package queues has the plugins that choose by the queues and gangs of the scheduler:
//
//	protection.go  QueueProtection keeps guarantees, and gangs whole
//	sort.go        QueueSort has pods of queues that use most go first
package queues
