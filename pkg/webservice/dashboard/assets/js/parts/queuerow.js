// One queue in a line: what it uses against what is guaranteed to it and its max.

import { badge, bar, h } from '../dom.js';
import * as format from '../format.js';
import { nameOf } from './shares.js';
import { guaranteeStateBadges, under, within } from './guaranteestate.js';

// measure is how a bar of a queue is drawn for a kind: its whole, the parts that are
// filled, and where the marks are. The whole is the max of the queue or, without one, what
// is guaranteed to it; where it has neither, it is what bounds the queue otherwise. It is
// more if more is used.
export function measure(queue, fair, kind) {
  const of = (field) => queue[field]?.[kind] ?? 0;
  const used = of('allocatedResource'), evicting = Math.min(used, of('preemptingResource')), nominated = of('nominatedResource');
  const guaranteed = of('guaranteedResource'), max = queue.maxResource?.[kind], bound = max ?? fair[kind];
  const pending = of('pendingResource'), own = used - evicting;
  const lacking = queue.guaranteeStateByKind?.[kind] === under ? Math.min(pending, Math.max(0, guaranteed - used - nominated)) : 0;
  const whole = Math.max(max ?? (guaranteed > 0 ? guaranteed * 1.02 : bound ?? 0), guaranteed, used + nominated + lacking, 1);
  const marks = [];
  if (guaranteed > 0) marks.push({ part: guaranteed / whole, kind: 'guaranteed' });
  if (max !== undefined) marks.push({ part: max / whole, kind: 'max' });
  else if (bound !== undefined && bound <= whole) marks.push({ part: bound / whole, kind: 'fair' });
  const beyond = guaranteed > 0 ? Math.max(0, own - guaranteed) : 0;
  return {
    used, guaranteed, max, bound, evicting, nominated, pending, whole, marks,
    over: max !== undefined && used > max,
    parts: [{ part: (own - beyond) / whole, tone: 'own' }, { part: beyond / whole, tone: 'over' }, { part: evicting / whole, tone: 'evicting' }, { part: nominated / whole, tone: 'nominated' },
      { part: lacking / whole, tone: 'lacking' }],
  };
}

// words say the same as a bar.
export function words(m, kind) {
  const say = (n) => format.amount(kind, n);
  return [`${format.kindName(kind)}: ${say(m.used)} used`,
    m.guaranteed > 0 && `${say(m.guaranteed)} guaranteed`,
    m.max !== undefined ? `${say(m.max)} max` : m.bound !== undefined && `no max, ${say(m.bound)} above it`,
    m.evicting > 0 && `${say(m.evicting)} evicting`, m.nominated > 0 && `${say(m.nominated)} nominated`, m.pending > 0 && `${say(m.pending)} pending`,
  ].filter(Boolean).join(', ');
}

export function meter(queue, fair, kind) {
  const m = measure(queue, fair, kind);
  return bar({ label: words(m, kind), parts: m.parts, marks: m.marks });
}

// badges are the states of a queue that deserve a look; in the tree without
// those that the bars show.
export function badges(queue, all = true) {
  return [
    queue.status !== 'Active' && badge('warn', queue.status.toLowerCase()),
    ...(queue.guaranteeState === within ? [] : guaranteeStateBadges(queue)).slice(0, all ? undefined : 1),
    queue.overMaxSince && badge('bad', 'over max'),
    all && format.kinds(queue.preemptingResource).length > 0 && badge('warn', 'evicting'),
    all && format.kinds(queue.nominatedResource).length > 0 && badge('info', 'nominated'),
  ];
}

// queueRow is the line of a queue in the tree. Its cells stand under the heads of the
// kinds; readers of screens are told its name and what its bars say. Place is { depth, size, at, open, cursor, chosen } of it among the others.
export function queueRow({ queue, fair, kinds, place, id, ontoggle, onpick }) {
  const parent = !queue.isLeaf && (queue.children?.length ?? 0) > 0;
  return h('div', {
    key: queue.queuename, id, role: 'treeitem', class: ['queue', place.cursor && 'at-cursor', place.chosen && 'chosen'],
    'aria-level': place.depth + 1, 'aria-setsize': place.size, 'aria-posinset': place.at + 1, 'aria-selected': place.chosen ? 'true' : 'false',
    'aria-expanded': parent ? String(place.open) : null, onclick: onpick,
  },
  h('div', { class: 'queue-name', style: { '--depth': place.depth } },
    h('span', { class: ['twisty', parent && (place.open ? 'open' : 'shut')], 'aria-hidden': 'true', onclick: parent ? (event) => { event.stopPropagation(); ontoggle(); } : null }),
    h('span', { class: 'queue-label', title: queue.queuename }, nameOf(queue.queuename)), badges(queue, false)),
  kinds.map((kind) => {
    const m = measure(queue, fair, kind);
    return h('div', { class: 'queue-kind' },
      h('div', { class: ['queue-text', m.over && 'bad-text'], 'aria-hidden': 'true' }, h('span', { class: m.used === 0 && 'quiet' }, format.amount(kind, m.used)), h('span', { class: 'quiet' }, limits(m, kind))),
      bar({ label: words(m, kind), parts: m.parts, marks: m.marks }));
  }),
  h('div', { class: 'queue-count num', title: 'applications that run' }, format.count(queue.runningApps)),
  h('div', { class: 'queue-count num', title: format.amounts(queue.pendingResource) }, pendingOf(queue)));
}

// limits is what is guaranteed and the max, in little room.
function limits(m, kind) {
  const say = (n) => format.amount(kind, n);
  return [m.guaranteed > 0 && `guar. ${say(m.guaranteed)}`, m.max !== undefined && `max ${say(m.max)}`].filter(Boolean).join(' · ');
}

// pendingOf is what waits in a queue, of the kind that people know best.
export function pendingOf(queue) {
  const kind = format.kinds(queue.pendingResource)[0];
  return kind ? [format.amount(kind, queue.pendingResource[kind]), h('span', { class: 'quiet' }, ` ${format.kindName(kind)}`)] : h('span', { class: 'quiet' }, '–');
}
