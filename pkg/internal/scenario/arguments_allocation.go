package scenario

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
)

// tagged is the argument of one tag: tag.NAME=value.
const tagged = "tag."

// unknown is the argument of a resource kind that no node has: unknown.NAME=quantity.
const unknown = "unknown."

// attribute is the argument of one attribute of a node: attribute.NAME=value.
const attribute = "attribute."

// addUnknown reads what an ask wants of kinds that are not known yet.
func (a *arguments) addUnknown(allocation *api.Allocation) {
	message := &si.Resource{Resources: map[string]*si.Quantity{}}
	for _, key := range slices.Sorted(maps.Keys(a.named)) {
		if name, ok := strings.CutPrefix(key, unknown); ok {
			message.Resources[name] = &si.Quantity{Value: a.number(key)}
		}
	}
	amounts, names, err := messages.WantedOf(a.kinds, message, nil)
	if err != nil {
		a.fail("%w", err)
	}
	allocation.Amounts.Add(amounts)
	allocation.Unknown = names
}

// tags reads tags=a:b,c:d and each tag.NAME=value; the flag owner is one too, and
// so are qos= and grace=.
func (a *arguments) tags() map[string]string {
	tags := a.all("tags", tagged)
	if a.flag("owner") {
		tags = withTag(tags, api.TagOwner, "true")
	}
	if a.has("qos") {
		tags = withTag(tags, api.TagQoS, a.text("qos"))
	}
	if a.has("grace") {
		seconds := int64(a.duration("grace") / time.Second)
		tags = withTag(tags, api.TagGrace, strconv.FormatInt(seconds, 10))
	}
	return tags
}

func withTag(tags map[string]string, name, value string) map[string]string {
	if tags == nil {
		tags = map[string]string{}
	}
	tags[name] = value
	return tags
}

// preemptable reads the preemption policy; an ask without these arguments has
// none. What is not said of a policy that is given is false, as in a message.
func (a *arguments) preemptable() api.Preemptable {
	const self, others = "allow-preempt-self", "allow-preempt-other"
	return api.Preemptable{
		Stated:      a.has(self) || a.has(others),
		AllowSelf:   a.truth(self),
		AllowOthers: a.truth(others),
	}
}

func (a *arguments) truth(key string) bool {
	text := a.text(key)
	if text == "" && !a.has(key) {
		return false
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		a.fail("%s=%s is not true or false", key, text)
	}
	return value
}
