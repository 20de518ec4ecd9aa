// Applications and asks: lists of both, an application, and why an ask waits or an
// allocation is evicted.
//
//   #/applications                        applications that are active; ?state=completed, rejected
//   #/applications?view=pending           all asks that wait; &why=…
//   #/applications?view=groups            groups that start together
//   #/applications/APPLICATION            one application
//   #/applications/APPLICATION/KEY        one of its asks or allocations
import { createViewer } from '../parts/viewer.js';
import { applicationList } from '../parts/applist.js';
import { applicationDetails } from '../parts/appdetails.js';
import { groupList } from '../parts/grouplist.js';
import { pendingList } from '../parts/pending.js';
import { whyView } from '../parts/whyview.js';

export default {
  id: 'applications',
  title: 'Applications',
  mount(root, ctx) {
    return createViewer(root, ctx, ({ parts, query }) => {
      const [id, key] = parts;
      if (key) return { key: `why ${id} ${key}`, make: () => whyView(ctx, id, key) };
      if (id) return { key: `one ${id}`, make: () => applicationDetails(ctx, id) };
      if (query.get('view') === 'groups') return { key: 'groups', make: () => groupList(ctx) };
      if (query.get('view') === 'pending') return { key: 'pending', make: () => pendingList(ctx) };
      return { key: 'list', make: () => applicationList(ctx) };
    });
  },
};
