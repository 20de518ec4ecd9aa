package events

import (
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// Expired is the record that an application which has ended, or was rejected, is known no
// more. No event of the core says so, since the core forgets an application when it ends.
func Expired(now time.Time, id api.ApplicationID) *si.EventRecord {
	return &si.EventRecord{
		TimestampNano: now.UnixNano(), Type: si.EventRecord_APP, ObjectID: string(id),
		EventChangeType: si.EventRecord_SET, EventChangeDetail: si.EventRecord_APP_EXPIRED,
	}
}
