package scheduler

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// quota reads the quota of the namespace of an application from its tags, which a queue gets
// that is made for it. It is nil if there is none. One that cannot be read is a warning, and
// the queue keeps what it has.
func (c *conversion) quota(to *owner, id string, tags map[string]string) *api.QueueQuota {
	most, guaranteed := tag(tags, common.AppTagNamespaceResourceQuota), tag(tags, common.AppTagNamespaceResourceGuaranteed)
	quota := &api.QueueQuota{ApplicationsMax: c.applicationsMax(to, id, tags)}
	if most == "" && guaranteed == "" && quota.ApplicationsMax == 0 {
		return nil
	}
	quantities, err := quantitiesOf(most)
	if err == nil && len(quantities) > 0 {
		quota.Max, err = c.kinds.Limits(quantities)
	}
	if err != nil {
		c.warnings = append(c.warnings, warning{to.name, id, fmt.Sprintf("tag %s: %v", common.AppTagNamespaceResourceQuota, err)})
		return nil
	}
	if quantities, err = quantitiesOf(guaranteed); err == nil {
		quota.Guaranteed, err = c.kinds.Amounts(quantities)
	}
	if err != nil {
		c.warnings = append(c.warnings, warning{to.name, id, fmt.Sprintf("tag %s: %v", common.AppTagNamespaceResourceGuaranteed, err)})
		return nil
	}
	return quota
}

// applicationsMax reads from its tags how many applications of the namespace of an application
// may run; zero is no limit.
func (c *conversion) applicationsMax(to *owner, id string, tags map[string]string) int {
	text := tag(tags, common.AppTagNamespaceResourceMaxApps)
	if text == "" {
		return 0
	}
	most, err := strconv.ParseInt(text, 10, 32)
	if err == nil && most < 0 {
		err = fmt.Errorf("%d is negative", most)
	}
	if err != nil {
		c.warnings = append(c.warnings, warning{to.name, id, fmt.Sprintf("tag %s: %v", common.AppTagNamespaceResourceMaxApps, err)})
		return 0
	}
	return int(most)
}

// quantitiesOf reads amounts as JSON, such as {"resources": {"vcore": {"value": 1000}}}.
func quantitiesOf(text string) (map[string]int64, error) {
	if text == "" {
		return nil, nil
	}
	var r si.Resource
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("amounts are expected, as in {\"resources\": {\"vcore\": {\"value\": 1000}}}: %w", err)
	}
	quantities := make(map[string]int64, len(r.Resources))
	for kind, quantity := range r.Resources {
		if quantity.GetValue() < 0 {
			return nil, fmt.Errorf("%q is negative", kind)
		}
		quantities[kind] = quantity.GetValue()
	}
	return quantities, nil
}
