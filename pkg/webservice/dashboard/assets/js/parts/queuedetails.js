// All that is known of one queue.

import { badge, bar, h, pairs, table } from '../dom.js';
import * as format from '../format.js';
import { queueLink } from './links.js';
import { pane, section } from './pane.js';
import { badges, measure, words } from './queuerow.js';
import { nameOf } from './shares.js';
import { readable } from './words.js';

const namesMax = 5; // of a limit that are named
const none = -2147483648; // the priority of what has nothing that waits

// queueDetails makes the pane. The way is [{ queue, fair }] from the root to the queue; charts
// is what it was in the last hours.
export function queueDetails(ctx, way, charts, onclose) {
  const { queue, fair } = way.at(-1);
  const note = badges(queue).filter(Boolean);
  return pane({ title: queue.queuename, note: note.length ? note : null, onclose },
    h('div', { class: 'toolbar' },
      h('a', { class: 'button', href: ctx.link('applications', [], { queue: queue.queuename }) }, 'Applications'),
      h('a', { class: 'button', href: ctx.link('applications', [], { view: 'pending', queue: queue.queuename }) }, 'Pending asks')),
    quota(ctx, queue), amounts(queue, fair), section('The last hours', charts), chain(ctx, way), limits(ctx, queue), settings(queue), properties(queue));
}

// quota says what is wrong with the limits, if something is.
function quota(ctx, queue) {
  if (!queue.overMaxSince && !queue.quotaPlan) return null;
  return section('Limits',
    queue.overMaxSince && h('p', null, badge('bad', 'over its max'), ` for ${format.age(queue.overMaxSince, ctx.now())}, since ${format.date(queue.overMaxSince)}`),
    queue.quotaPlan && h('p', null, readable(queue.quotaPlan), queue.quotaPlanned && h('span', { class: 'quiet' }, ` (${format.age(queue.quotaPlanned, ctx.now())} ago)`)));
}

function amounts(queue, fair) {
  const kinds = format.kinds(queue.allocatedResource, queue.guaranteedResource, queue.maxResource, queue.pendingResource, queue.nominatedResource);
  if (kinds.length === 0) return section('Amounts', h('p', { class: 'quiet' }, 'Nothing is used, guaranteed or limited.'));
  return section('Amounts', kinds.map((kind) => {
    const m = measure(queue, fair, kind);
    const say = (n) => format.amount(kind, n);
    const facts = [['used', say(m.used)], ['guaranteed', m.guaranteed > 0 && say(m.guaranteed)],
      ['max', m.max === undefined ? 'none' : say(m.max)], ['left', queue.headroom?.[kind] !== undefined && say(queue.headroom[kind])],
      ['pending', m.pending > 0 && say(m.pending)], ['nominated', m.nominated > 0 && say(m.nominated)], ['evicting', m.evicting > 0 && say(m.evicting)]];
    return h('div', { class: 'gauge', key: kind },
      h('div', { class: 'gauge-head' }, h('strong', { title: kind }, format.kindName(kind)), h('span', { class: 'quiet' }, partWords(m))),
      bar({ label: words(m, kind), parts: m.parts, marks: m.marks }),
      h('div', { class: 'facts' }, facts.filter(([, v]) => v).map(([name, v]) => h('span', null, h('span', { class: 'quiet' }, `${name} `), v))));
  }));
}

// partWords is how much of what is guaranteed to a queue it uses or, if nothing is, of its max.
function partWords(m) {
  if (m.guaranteed > 0) return `${format.percent(format.part(m.used, m.guaranteed))} of its guarantee`;
  if (m.bound === undefined) return 'of no limit';
  return `${format.percent(format.part(m.used, m.bound))} of ${m.max === undefined ? 'what is above' : 'its max'}`;
}

// chain is every limit on the way to the root, with what is left of it. The least of
// each kind is what counts.
function chain(ctx, way) {
  const rows = [];
  for (const { queue } of [...way].reverse()) {
    for (const kind of format.kinds(queue.maxResource)) {
      const max = queue.maxResource[kind], used = queue.allocatedResource?.[kind] ?? 0;
      rows.push({ queue, kind, max, left: max - used });
    }
  }
  const least = {};
  for (const row of rows) if (!(least[row.kind]?.left <= row.left)) least[row.kind] = row;
  return section('Limits on the way to the root', table({
    label: 'Limits on the way to the root', compact: true, rows, key: (r) => `${r.queue.queuename} ${r.kind}`, empty: 'Nothing limits this queue', columns: [
      { head: 'Queue', cell: (r) => queueLink(ctx, r.queue.queuename, nameOf(r.queue.queuename)) },
      { head: 'Kind', cell: (r) => format.kindName(r.kind) },
      { head: 'Max', num: true, cell: (r) => format.amount(r.kind, r.max) },
      { head: 'Left', num: true, cell: (r) => (least[r.kind] === r ? h('strong', { class: r.left <= 0 && 'bad-text', title: 'the least, which counts' }, `${format.amount(r.kind, r.left)} ◂`) : format.amount(r.kind, r.left)) },
    ],
  }));
}

// limits is what users and groups may have here and below.
function limits(ctx, queue) {
  const rows = (queue.limits ?? []).flatMap((limit) => [['user', limit.users], ['group', limit.groups]]
    .filter(([, names]) => names).map(([of, names]) => ({ ...limit, of, names })));
  if (rows.length === 0) return null;
  return section('Limits of users and groups', table({
    label: 'Limits of users and groups', compact: true, rows, key: (r) => `${r.of} ${r.names[0]}`, columns: [
      { head: 'Each', cell: (r) => limited(ctx, r) },
      { head: 'Max', cell: (r) => (r.maxResources ? format.amounts(r.maxResources) : '–') },
      { head: 'Applications', num: true, cell: (r) => (r.maxApplications ? format.count(r.maxApplications) : '–') },
    ],
  }));
}

// limited names the users or groups that a limit is for. The first names lead to what they have.
function limited(ctx, { of, names }) {
  const view = of === 'group' ? 'groups' : '';
  const link = (name) => (name === '*' ? `any other ${of}` : [`${of} `, h('a', { href: ctx.link('users', [], { view, text: name }) }, name)]);
  return [names.slice(0, namesMax).map((name, i) => [i > 0 && ', ', link(name)]),
    names.length > namesMax && h('span', { class: 'quiet' }, ` and ${format.count(names.length - namesMax)} more`)];
}

function settings(queue) {
  const yes = (is, text) => (is ? text : null);
  return section('Settings', pairs(
    ['kind', queue.isLeaf ? 'leaf' : 'parent'],
    ['made by', queue.isManaged ? 'the configuration' : 'a placement rule'],
    ['applications', queue.isLeaf ? `${format.count(queue.runningApps)} of ${format.count(queue.applications)} run` : `${format.count(queue.runningApps)} run below`],
    ['run at most', queue.maxRunningApps ? format.plural(queue.maxRunningApps, 'application') : null],
    ['order', [queue.sortingPolicy, queue.prioritySorting ? 'by priority first' : 'without priority'].filter(Boolean).join(', ')],
    ['highest priority', queue.currentPriority === undefined || queue.currentPriority === none ? null : queue.currentPriority],
    ['priority', [yes(queue.isPriorityFence, 'fence'), yes(queue.priorityOffset, `offset ${queue.priorityOffset}`)].filter(Boolean).join(', ')],
    ['preemption', [queue.preemptionEnabled ? 'on' : 'off', yes(queue.isPreemptionFence, 'fence'), yes(queue.preemptionDelay, `after ${queue.preemptionDelay}`)].filter(Boolean).join(', ')],
    ['evicts after', queue.quotaPreemptionDelay && queue.quotaPreemptionDelay !== '0s' ? queue.quotaPreemptionDelay : null],
    ['template', template(queue.template)]));
}

function template(of) {
  if (!of) return null;
  return [of.maxApplications && `${format.plural(of.maxApplications, 'application')} at most`, of.maxResource && `max ${format.amounts(of.maxResource)}`,
    of.guaranteedResource && `guaranteed ${format.amounts(of.guaranteedResource)}`, of.properties && Object.entries(of.properties).map(([k, v]) => `${k}=${v}`).join(', ')].filter(Boolean).join('; ');
}

function properties(queue) {
  const list = Object.entries(queue.properties ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return list.length ? section('Properties as written', pairs(...list)) : null;
}
