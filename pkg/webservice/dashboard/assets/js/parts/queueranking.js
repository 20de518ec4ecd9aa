// Every queue with a guarantee, at any level: those under it and waiting first.

import { h, state, table } from '../dom.js';
import * as format from '../format.js';
import { compare, columns, row, guaranteeStates, words } from './guaranteestate.js';

const rowsMax = 300; // of a page

// queueRanking is the table with its filters, of all queues.
export function queueRanking(ctx, queues, filters) {
  const { query } = ctx.route(), of = (name) => query.get(name) ?? '';
  const all = queues.filter((queue) => queue.guaranteeState);
  if (all.length === 0) return state('empty', 'Nothing is guaranteed', 'No queue of this partition has a guarantee.');
  const kinds = format.kinds(...all.map((queue) => queue.guaranteedResource));
  const fits = all.filter((queue) => queue.queuename.includes(of('text').toLowerCase()) && (of('kind') === '' || queue.guaranteedResource[of('kind')] > 0));
  const rows = fits.map((queue) => row(queue, of('kind')));
  const some = rows.filter((r) => of('guaranteeState') === '' || r.guaranteeState === of('guaranteeState'));
  some.sort(comparison(of('sort')));
  return [
    h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Filter' }, buttons(rows, of('guaranteeState'), filters), filters.fields(
      { name: 'text', kind: 'search', label: 'Find a queue' },
      { name: 'kind', kind: 'select', label: 'Kind', options: [['', 'The kind that decides'], ...kinds.map((kind) => [kind, format.kindName(kind)])] })),
    table({
      label: 'Queues by their guarantee', rows: some.slice(0, rowsMax), key: (r) => r.queueName, empty: 'No queue is like that',
      columns: columns((r) => h('a', { href: ctx.link('queues', [r.queueName], query) }, r.queueName.replace(/^root\./, '')), true),
      sort: { by: of('sort'), onsort: (by) => filters.change({ sort: by }) },
    }),
    some.length > rowsMax && h('p', { class: 'quiet' }, `and ${format.count(some.length - rowsMax)} more; the search finds them`),
  ];
}

// buttons pick a guarantee state.
function buttons(all, chosen, filters) {
  const one = (guaranteeState, n) => h('button', {
    type: 'button', class: 'reason', 'aria-pressed': guaranteeState === chosen ? 'true' : 'false',
    onclick: () => filters.change({ guaranteeState: guaranteeState === chosen ? '' : guaranteeState }),
  }, h('span', { class: 'reason-count' }, format.count(n)), guaranteeState === '' ? 'All' : words[guaranteeState]);
  return h('div', { class: 'reasons', role: 'group', 'aria-label': 'How they stand' },
    one('', all.length), guaranteeStates.map((guaranteeState) => one(guaranteeState, all.filter((r) => r.guaranteeState === guaranteeState).length)));
}

// comparison is by a column, or by how urgent it is to look.
function comparison(sort) {
  const down = sort.startsWith('-'), name = down ? sort.slice(1) : sort;
  if (name === '' || name === 'guaranteeState') return down ? (a, b) => compare(b, a) : compare;
  const value = (r) => r[name] ?? Infinity;
  return (a, b) => {
    const [x, y] = down ? [value(b), value(a)] : [value(a), value(b)];
    return (x < y ? -1 : x > y ? 1 : 0) || compare(a, b);
  };
}
