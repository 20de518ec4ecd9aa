package core_test

import (
	"maps"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// gang is a random application with placeholders.
func (h *history) gang() api.Command {
	c := api.AddApplication{
		ID: h.app(), Queue: []api.QueuePath{"root.a", "root.p.b", "p.c"}[h.IntN(3)], Placeholders: resources.Amounts{int64(h.IntN(6))},
		Style: api.GangStyle(h.IntN(2)), GangTimeout: time.Duration(1+h.IntN(20)) * time.Second, Forced: true,
	}
	if h.IntN(2) == 0 {
		c.Tags = map[string]string{api.TagGangStart: api.GangWhole}
	}
	if h.placing != nil {
		tags := c.Tags
		h.placing.application(&c)
		if c.Tags == nil {
			c.Tags = tags
		} else {
			maps.Copy(c.Tags, tags)
		}
	}
	return c
}
