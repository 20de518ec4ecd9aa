package pods

import "k8s.io/client-go/tools/cache"

// LastKnown is what an informer says of an object that is gone: the object, also where its end was missed, when it comes in a wrapper
// as it was known last. All else is returned as it is.
func LastKnown(object any) any {
	if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return missed.Obj
	}
	return object
}
