// One application: what it is, what waits, what runs, and what it has been through.

import * as format from '../format.js';
import { badge, h, pager, pairs, state, table } from '../dom.js';
import { askLink, copyButton, crumbs, nodeLink, queueLink } from './links.js';
import { stateBadge } from './applist.js';
import { whyCell } from './pending.js';
import { fewAmounts } from './kindchoice.js';
import { capital } from './words.js';

const pageSize = 50;
const manyAllocations = 2000; // from here on the list is read less often
const listLasts = 10000; // milliseconds that a long list is shown before it is read again

const described = [
  'applicationID', 'queueName', 'user', 'groups', 'applicationState', 'submissionTime', 'startTime', 'finishedTime', 'stateLog',
  'heldResource', 'pendingResource', 'maxUsedResource', 'resourceHistory', 'tags', 'placeholderData',
].join(',');

export function applicationDetails(ctx, id) {
  let app = null, asks = [], asksTotal = 0, allocations = [], readAt = -Infinity;

  const at = (...parts) => ctx.api.path('partition', ctx.partition(), ...parts);
  const place = (name) => Math.max(0, Number.parseInt(ctx.route().query.get(name) ?? '0', 10) || 0);

  function turn(name, offset) {
    const query = new URLSearchParams(ctx.route().query);
    if (offset > 0) query.set(name, offset); else query.delete(name);
    ctx.go(ctx.link('applications', [id], query), true);
  }

  async function load(signal) {
    app = await findApplication(ctx, id, described, signal);
    if (!app || app.ended) {
      [asks, asksTotal, allocations] = [[], 0, []];
      return;
    }
    ({ data: asks, total: asksTotal } = await ctx.api.get(at('asks'), { params: { application: id, limit: pageSize, offset: place('asks') }, signal }));
    if (allocations.length > manyAllocations && performance.now() - readAt < listLasts) return;
    const { data } = await ctx.api.get(at('application', id), { params: { fields: 'allocations' }, signal });
    allocations = inOrder(data.allocations ?? []);
    readAt = performance.now();
  }

  function show() {
    if (!app) return [crumbs(['Applications', ctx.link('applications')], [id]), missing()];
    return [
      crumbs(['Applications', ctx.link('applications')], [id]),
      h('div', { class: 'toolbar' }, h('h1', null, id), stateBadge(app.applicationState), h('span', { class: 'grow' }),
        copyButton(ctx, 'Copy link', () => location.href)),
      app.rejectedMessage && h('p', { class: 'lead bad-text' }, `${capital(app.rejectedMessage)}.`),
      h('div', { class: 'columns' }, facts(), history(), spent(app.resourceHistory)),
      gangs(app.placeholderData ?? [], allocations),
      !app.ended && waiting(),
      !app.ended && running(),
    ];
  }

  function missing() {
    return state('empty', 'There is no such application', `${id} is not known: it never came, or ended so long ago that it is not kept.`,
      h('a', { class: 'button', href: ctx.link('applications') }, 'All applications'),
      h('a', { class: 'button', href: ctx.link('events', [], { text: id }) }, 'Events about it'));
  }

  function facts() {
    const now = ctx.now();
    return h('section', { class: 'card' }, h('h2', null, 'What it is'), pairs(
      ['Queue', queueLink(ctx, app.queueName)],
      ['User', app.user],
      ['Groups', app.groups?.join(', ')],
      ['Submitted', `${format.date(app.submissionTime)} (${format.age(app.submissionTime, now)} ago)`],
      ['Started', app.startTime > 0 && `${format.date(app.startTime * 1e6)} (${startedAfter(app)})`],
      ['Ended', app.finishedTime > 0 && `${format.date(app.finishedTime)} (${format.age(app.finishedTime, now)} ago)`],
      ['Uses', app.ended ? '' : format.amounts(app.heldResource)],
      ['Waits for', app.pendingResource && format.amounts(app.pendingResource)],
      ['Most it used', app.maxUsedResource && format.amounts(app.maxUsedResource)],
      ...Object.entries(app.tags ?? {}).sort().map(([name, value]) => [name, value]),
    ), h('p', { class: 'more' }, h('a', { href: ctx.link('events', [], { text: id }) }, 'Events about it')));
  }

  function history() {
    const log = [...(app.stateLog ?? [])].reverse();
    return h('section', { class: 'card' }, h('h2', null, 'State history'), table({
      label: 'States', rows: log, empty: 'Nothing is known',
      columns: [
        { head: 'State', cell: (s) => stateBadge(s.applicationState) },
        { head: 'Since', class: 'when', cell: (s) => format.date(s.time) },
        { head: 'Ago', num: true, cell: (s) => format.age(s.time, ctx.now()) },
        ...(log.some((s) => s.reason) ? [{ head: 'Why', cell: (s) => capital(s.reason ?? '') }] : []),
      ],
    }));
  }

  function waiting() {
    return h('section', { class: 'card' }, h('h2', null, `Pending asks (${format.count(asksTotal)})`),
      asksTotal === 0 ? h('p', { class: 'quiet' }, 'Nothing waits.') : [
        table({
          label: 'Pending asks', rows: asks, key: (a) => a.allocationKey, onrow: (a) => ctx.go(ctx.link('applications', [id, a.allocationKey])),
          columns: [
            { head: 'Ask', cell: (a) => askLink(ctx, id, a.allocationKey) },
            { head: 'Why it waits', cell: (a) => whyCell(ctx, a) },
            { head: 'Asks for', cell: (a) => fewAmounts(a.resource) },
            { head: 'Priority', num: true, cell: (a) => a.priority },
            { head: 'Must run on', class: 'when-wide', cell: (a) => nodeLink(ctx, a.requiredNodeId) ?? '–' },
            { head: 'Waits', num: true, cell: (a) => format.age(a.requestTime, ctx.now()) },
          ],
        }),
        pager({ offset: place('asks'), limit: pageSize, total: asksTotal, onpage: (n) => turn('asks', n), noun: 'asks' })]);
  }

  function running() {
    const offset = Math.min(place('offset'), Math.max(0, allocations.length - 1));
    const evicted = allocations.filter((a) => a.preempted).length;
    return h('section', { class: 'card' },
      h('div', { class: 'card-head' }, h('h2', null, `Allocations (${format.count(allocations.length)})`),
        evicted > 0 && h('span', { class: 'warn-text' }, `${format.count(evicted)} evicted`)),
      allocations.length === 0 ? h('p', { class: 'quiet' }, 'Nothing runs.') : [
        table({
          label: 'Allocations', rows: allocations.slice(offset, offset + pageSize), key: (a) => a.allocationKey,
          onrow: (a) => ctx.go(ctx.link('applications', [id, a.allocationKey])),
          columns: [
            { head: 'Allocation', cell: (a) => askLink(ctx, id, a.allocationKey) },
            { head: '', cell: (a) => marks(a) },
            { head: 'Node', cell: (a) => nodeLink(ctx, a.nodeId) },
            { head: 'Holds', cell: (a) => fewAmounts(a.resource) },
            { head: 'Priority', num: true, cell: (a) => a.priority },
            { head: 'Runs', num: true, cell: (a) => format.age(a.allocationTime, ctx.now()) },
            { head: 'Waited', num: true, class: 'when-wide', title: 'From the request to the placement', cell: (a) => format.duration(a.allocationDelay) },
          ],
        }),
        pager({ offset, limit: pageSize, total: allocations.length, onpage: (n) => turn('offset', n), noun: 'allocations' })]);
  }

  return { load, show, up: () => ctx.link('applications') };
}

// startedAfter is how long after it was submitted an application started, of which
// REST knows the milliseconds.
function startedAfter(app) {
  const waited = app.startTime * 1e6 - app.submissionTime;
  return waited < 1e6 ? 'at once' : `after ${format.duration(waited)}`;
}

// spent is what the allocations of an application that have ended held, for how long.
function spent(history) {
  const rows = [['resourceUsage', 'in all'], ['preemptedResource', 'by allocations that were evicted'], ['placeholderResource', 'by placeholders']]
    .flatMap(([name, what]) => Object.entries(history?.[name] ?? {}).sort().map(([instance, used]) => ({ instance, what, used })));
  if (rows.length === 0) return null;
  const kinds = format.kinds(...rows.map((row) => row.used));
  return h('section', { class: 'card' }, h('h2', null, 'What it has used'), table({
    label: 'What it has used', rows, key: (row) => `${row.instance} ${row.what}`,
    columns: [
      { head: 'Nodes of type', cell: (row) => (row.instance && row.instance !== 'UNKNOWN' ? row.instance : 'unknown') },
      { head: 'Used', cell: (row) => row.what },
      ...kinds.map((kind) => ({ head: `${format.kindName(kind)} × h`, num: true, title: `${kind} times hours`, cell: (row) => (row.used[kind] ? format.amount(kind, row.used[kind] / 3600) : '–') })),
    ],
  }), h('p', { class: 'quiet small' }, 'Of allocations that have ended, times the hours that they ran.'));
}

// gangs is what became of the placeholders of each task group.
function gangs(groups, allocations) {
  if (groups.length === 0) return null;
  const placed = (name) => allocations.filter((a) => a.placeholder && a.taskGroupName === name).length;
  return h('section', { class: 'card' }, h('h2', null, 'Task groups'), table({
    label: 'Task groups', rows: groups, key: (g) => g.taskGroupName,
    columns: [
      { head: 'Task group', cell: (g) => g.taskGroupName },
      { head: 'Each at least', cell: (g) => fewAmounts(g.minResource) },
      { head: 'Placeholders', num: true, title: 'That were asked for so far', cell: (g) => format.count(g.count) },
      { head: 'Placed', num: true, title: 'Placeholders that hold room now', cell: (g) => format.count(placed(g.taskGroupName)) },
      { head: 'Replaced', num: true, title: 'Placeholders whose place a member has', cell: (g) => format.count(g.replaced) },
      { head: 'Timed out', num: true, title: 'Placeholders that ended in any other way', cell: (g) => format.count(g.timedout) },
    ],
  }));
}

// inOrder is allocations with the evicted ones first.
function inOrder(list) { return [...list.filter((a) => a.preempted), ...list.filter((a) => !a.preempted)]; }

function marks(a) {
  return [
    a.preempted && badge('warn', 'evicting', 'An ask needs its place'),
    a.originator && badge('info', 'driver', 'The driver of the others of its application'),
    a.placeholder && badge('plain', 'placeholder', 'Keeps a place for one of its task group'),
    a.placeholderUsed && badge('plain', 'member', 'Took the place of a placeholder'),
  ];
}

// findApplication resolves to an application wherever it is kept, or to null. Lists are
// read, as an application that has ended is no mistake. What has ended has the field
// ended; of several with one ID it is the last.
export async function findApplication(ctx, id, fields, signal) {
  const named = (kind, params) => ctx.api.get(ctx.api.path('partition', ctx.partition(), 'applications', kind), { params: { application: id, ...params }, signal });
  const { data } = await named('active', { fields });
  const active = data.find((app) => app.applicationID === id);
  if (active) return active;
  const ended = (await Promise.all(['completed', 'rejected'].map((kind) => named(kind)))).flatMap((list) => list.data);
  const last = ended.filter((app) => app.applicationID === id).sort((a, b) => (b.finishedTime ?? 0) - (a.finishedTime ?? 0))[0];
  return last ? { ...last, ended: true } : null;
}
