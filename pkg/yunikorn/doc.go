// Package yunikorn lets a program that was written for yunikorn-core run on this scheduler
// with a replace line in its go.mod: the module has the path of yunikorn-core, and the
// packages and names that resource managers use, as thin adapters over ours.
//
// The program keeps its imports, its callback and its configuration. What differs is in
// docs/yunikorn.md, with the lines to copy. Where the defaults of this scheduler would
// surprise such a program, those of YuniKorn hold here (internal/defaults).
//
//	pkg/entrypoint                  starts the scheduler, REST and the health check
//	pkg/scheduler                   looks into the scheduler: applications and nodes
//	pkg/scheduler/objects           what one sees there; read only
//	pkg/scheduler/placement/types   names of placement rules
//	pkg/common/configs              the configuration as data, and its validation
//	pkg/common/resources            quantities of what one sees
//	pkg/webservice/dao              the answers of REST as data
//	pkg/log                         the logger that a program sets before it starts a scheduler
//	pkg/locking                     the lock detection of the program's own locks
//	internal/defaults               values that differ from those of this scheduler
//	internal/look                   views of partitions, for pkg/scheduler and its objects
//
// No adapter decides anything. What is missing here is missing in the scheduler, too.
package yunikorn
