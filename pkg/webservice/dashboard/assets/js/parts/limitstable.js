// What users or groups have in their queues, against their limits there, and what waits.

import { badge, bar, h, table } from '../dom.js';
import * as format from '../format.js';
import { fewAmounts } from './kindchoice.js';
import { queueLink } from './links.js';

const queuesMax = 10; // of one user or group

// limitsTable is a line for each queue that limits an owner, and for each leaf where it has
// something. View is 'users' or 'groups', and field what REST calls a name there.
export function limitsTable(ctx, { view, field, owners, sort }) {
  const rows = owners.flatMap((owner) => rowsOf(owner));
  return table({
    label: view === 'users' ? 'What users have' : 'What groups have', rows, key: (r) => `${r.owner.name} ${r.queue?.queuePath ?? ''}`, sort,
    columns: [
      { head: view === 'users' ? 'User' : 'Group', sort: field, class: 'whole', cell: (r) => ownerCell(ctx, view, r.owner) },
      { head: 'Queue', cell: (r) => (r.queue ? queueLink(ctx, r.queue.queuePath) : h('span', { class: 'quiet' }, `and ${format.plural(r.more, 'more queue')}`)) },
      { head: 'Uses', cell: (r) => (r.queue ? fewAmounts(r.queue.resourceUsage, '–') : '') },
      { head: 'Limit', cell: (r) => (r.queue ? limitCell(r.queue.maxResources) : '') },
      { head: 'Applications', num: true, title: 'That run, of those that may', cell: (r) => (r.queue ? applications(r.queue) : '') },
      { head: 'Waits', sort: 'pendingAsks', num: true, title: 'Asks that wait there', cell: (r) => (r.queue ? waits(ctx, view, r) : '') },
      { head: 'Oldest', num: true, title: 'How long the oldest of them waits', cell: (r) => format.age(r.queue?.oldestRequestTime, ctx.now()) },
      { head: 'Came', sort: 'arrivals', num: true, title: 'Asks that came in the last five minutes', cell: (r) => (r.queue ? format.count(r.queue.arrivals) : '') },
      { head: 'Of the limit', sort: 'limitPercent', num: true, title: 'Of the kind of which most is used, or of the applications', class: 'limit-part', cell: (r) => (r.queue ? partCell(r) : '') },
    ],
  });
}

function rowsOf(owner) {
  const all = [];
  const walk = (queue) => {
    const limited = queue.maxResources !== undefined || queue.maxApplications !== undefined;
    if (limited || !queue.children) all.push({ owner, queue, limited, most: mostOf(queue) });
    for (const child of queue.children ?? []) walk(child);
  };
  walk(owner.root);
  const waiting = (row) => row.queue.pendingAsks ?? 0;
  all.sort((a, b) => b.most.percent - a.most.percent || b.limited - a.limited || waiting(b) - waiting(a)); // those alike stay in the order of queues
  if (all.length > queuesMax) all.splice(queuesMax - 1, all.length, { owner, more: all.length - queuesMax + 1 });
  return all;
}

// mostOf is of what the greatest part of a limit is used, and how much in percent. Of a limit
// of zero it counts as if that were one.
function mostOf(queue) {
  let most = { name: '', percent: 0 };
  const look = (name, used, max) => {
    const percent = used > max ? Math.max(101, Math.floor((used * 100) / Math.max(max, 1))) : used > 0 ? Math.floor((used * 100) / max) : 0;
    if (percent > most.percent || most.name === '') most = { name, percent };
  };
  for (const kind of format.kinds(queue.maxResources)) look(format.kindName(kind), queue.resourceUsage?.[kind] ?? 0, queue.maxResources[kind]);
  if (queue.maxApplications) look('applications', running(queue), queue.maxApplications);
  return most;
}

function running(queue) { return queue.runningApplications?.length ?? 0; }

function ownerCell(ctx, view, { name }) {
  if (view === 'groups') return name === '*' ? h('span', { class: 'quiet' }, 'users without a group') : name;
  return name === '' ? h('span', { class: 'quiet' }, 'without a name') : h('a', { href: ctx.link('applications', [], { user: name }) }, name);
}

// waits is how many asks wait, which leads to them.
function waits(ctx, view, { owner, queue }) {
  const n = format.count(queue.pendingAsks);
  if (!queue.pendingAsks || view === 'groups' || owner.name === '') return n;
  return h('a', { href: ctx.link('applications', [], { view: 'pending', user: owner.name, queue: queue.queuePath }) }, n);
}

function limitCell(max) { return max === undefined ? h('span', { class: 'quiet' }, 'none') : fewAmounts(max, 'none'); }

function applications(queue) {
  return queue.maxApplications ? `${format.count(running(queue))} of ${format.count(queue.maxApplications)}` : format.count(running(queue));
}

function partCell({ limited, most }) {
  if (!limited) return h('span', { class: 'quiet' }, 'no limit');
  const { name, percent } = most, whole = Math.max(100, percent);
  const parts = [{ part: Math.min(percent, 100) / whole, tone: 'own' }, { part: (percent - 100) / whole, tone: 'over' }];
  const says = `${name}: ${format.count(percent)} % of the limit`;
  return h('div', null, h('div', { class: 'limit-words' },
    percent > 100 ? badge('bad', 'over', says) : percent === 100 && badge('warn', 'at the limit', says),
    h('span', null, `${format.count(percent)} % `, h('span', { class: 'quiet' }, name))),
  bar({ label: says, parts, marks: percent > 100 ? [{ part: 100 / percent, kind: 'max' }] : [] }));
}
