// The list of applications: those that are active, ended and refused.

import * as format from '../format.js';
import { badge, h, pager, state, table } from '../dom.js';
import { applicationLink, noneLike, queueLink, subtabs } from './links.js';
import { beginsWith, createFilters, offsetOf } from './filters.js';
import { fewAmounts, fewKinds, kindChooser } from './kindchoice.js';
import { readQueues } from './queuelist.js';
import { capital } from './words.js';

const pageSize = 50;

const states = [['active', 'Active'], ['completed', 'Ended'], ['rejected', 'Rejected']];

const statuses = [['', 'Any state'], ['new', 'New'], ['accepted', 'Accepted'], ['running', 'Running'], ['completing', 'Completing'], ['failing', 'Failing']];

// What the list of those that are active shows, so that a page costs little however
// much they run. Those that ended run nothing.
const listed = 'applicationID,queueName,user,applicationState,heldResource,pendingResource,submissionTime';

const tones = {
  New: 'plain', Accepted: 'warn', Running: 'good', Completing: 'info', Resuming: 'info', Completed: 'good',
  Failing: 'bad', Failed: 'bad', Rejected: 'bad', Expired: 'plain',
};

// stateBadge is the state of an application with its shape and colour.
export function stateBadge(name) { return badge(tones[name] ?? 'plain', name || 'unknown'); }

// listTabs leads from one list to another.
export function listTabs(ctx, current) {
  return subtabs(ctx, 'applications', 'Lists', current, [
    ...states.map(([id, text]) => [id, text, id === 'active' ? {} : { state: id }]),
    ['pending', 'Pending asks', { view: 'pending' }], ['groups', 'Groups', { view: 'groups' }]]);
}

export function applicationList(ctx) {
  const filters = createFilters(ctx, 'applications');
  let rows = [], total = 0, queues = [];

  function chosen() {
    const asked = ctx.route().query.get('state');
    return states.some(([id]) => id === asked) ? asked : 'active';
  }

  async function load(signal) {
    const { query } = ctx.route();
    const where = ctx.api.path('partition', ctx.partition(), 'applications', chosen());
    const params = {
      limit: pageSize, offset: offsetOf(query), fields: chosen() === 'active' ? listed : '', application: beginsWith(query.get('text')),
      user: beginsWith(query.get('user')), queue: query.get('queue'), status: chosen() === 'active' ? query.get('status') : '', sort: query.get('sort'),
    };
    [{ data: rows, total }, queues] = await Promise.all([ctx.api.get(where, { params, signal }), readQueues(ctx, signal)]);
  }

  function show() {
    const { query } = ctx.route();
    return [
      h('div', { class: 'toolbar' }, h('h1', null, 'Applications'), listTabs(ctx, chosen())),
      h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Filter' }, filters.fields(
        { name: 'text', kind: 'search', label: 'Application begins with' },
        { name: 'queue', kind: 'select', label: 'Queue', options: [['', 'All queues'], ...queues] },
        { name: 'user', kind: 'text', label: 'User' },
        ...(chosen() === 'active' ? [{ name: 'status', kind: 'select', label: 'State', options: statuses }] : [])), kindChooser(format.known(), ctx.refresh)),
      rows.length === 0 && offsetOf(query) === 0 ? nothing(query) : h('div', { class: 'card' },
        table({ label: 'Applications', columns: columns(), rows, sort: { by: query.get('sort') ?? '', onsort: (by) => filters.change({ sort: by }) }, key: (a) => a.applicationID, onrow: (a) => ctx.go(ctx.link('applications', [a.applicationID])) }),
        pager({ offset: offsetOf(query), limit: pageSize, total, onpage: filters.page, noun: 'applications' })),
    ];
  }

  function nothing(query) {
    if (['text', 'queue', 'user', 'status'].some((name) => query.get(name))) {
      return noneLike('No application is like that', ctx.link('applications', [], { state: chosen() === 'active' ? '' : chosen() }));
    }
    const [title, text] = {
      active: ['No application is active', 'What the resource manager submits appears here.'],
      completed: ['No application has ended lately', 'Those that ended are kept for a while.'],
      rejected: ['No application was rejected lately', 'An application is rejected if it may not be in its queue, or the queue is none.'],
    }[chosen()];
    return state('empty', title, text);
  }

  function columns() {
    const ended = chosen() !== 'active', kind = fewKinds(format.known())[0];
    const of = (field) => (kind ? `${field}.${kind}` : undefined);
    return [
      { head: 'Application', class: 'whole', sort: 'applicationID', cell: (a) => applicationLink(ctx, a.applicationID) },
      { head: 'State', sort: 'applicationState', cell: (a) => stateBadge(a.applicationState) },
      { head: 'Queue', sort: 'queueName', class: 'when-wide', cell: (a) => queueLink(ctx, a.queueName) },
      { head: 'User', sort: 'user', class: 'when-wide', cell: (a) => a.user ?? '' },
      chosen() === 'rejected' && { head: 'Why', cell: (a) => capital(a.rejectedMessage ?? '') },
      ended && chosen() !== 'rejected' && { head: 'Most used', cell: (a) => fewAmounts(a.maxUsedResource) },
      !ended && { head: 'Uses', sort: of('heldResource'), down: true, cell: (a) => fewAmounts(a.heldResource, '–') },
      !ended && { head: 'Waits for', sort: of('pendingResource'), down: true, cell: (a) => waiting(a) },
      ended && chosen() !== 'rejected' && { head: 'Took', num: true, title: 'From its submission to its end', cell: (a) => (a.finishedTime ? format.duration(a.finishedTime - a.submissionTime) : '–') },
      ended && { head: chosen() === 'rejected' ? 'Came' : 'Ended', num: true, cell: (a) => `${format.age(a.finishedTime ?? a.submissionTime, ctx.now())} ago` },
      !ended && { head: 'Age', num: true, sort: 'submissionTime', up: true, class: 'when-wide', title: 'Since it was submitted', cell: (a) => format.age(a.submissionTime, ctx.now()) },
    ].filter(Boolean);
  }

  function waiting(a) {
    return a.pendingResource ? h('a', { href: ctx.link('applications', [a.applicationID]), class: 'warn-text' }, fewAmounts(a.pendingResource)) : '–';
  }

  return { load, show, unmount: filters.stop };
}
