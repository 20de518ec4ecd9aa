package backlog

import "fmt"

// VerifyTables returns the first law of the tables that is broken, or nil: they hold what is known of objects
// that are there, and nothing of those that are gone. It is linear in the size of the partition, and
// changes nothing.
func (b *Backlog) VerifyTables(nodes *NodeOrder) error {
	for slot, at := range nodes.nodes {
		if at != nil && (b.FindNode(at.ID) != at.Node || int(at.Slot) != slot) {
			return fmt.Errorf("partition %s: node %s is known to the order in place %d, and is not there", b.Name, at.ID, slot)
		}
	}
	waiting := make(map[int]bool, b.Waiting)
	for _, r := range b.Requests {
		if r.Slot > 0 {
			waiting[int(r.Slot)] = true
		}
	}
	for slot, ask := range b.asks {
		if is := ask.class != nil; is != waiting[slot] || !is && ask.group != nil {
			return fmt.Errorf("partition %s: an ask of number %d waits is %t, and is known is %t", b.Name, slot, waiting[slot], is)
		}
	}
	for account, lines := range b.Blocked {
		if len(lines) == 0 {
			return fmt.Errorf("partition %s: %s is listed and holds nothing back", b.Name, account.Subject)
		}
	}
	return nil
}
