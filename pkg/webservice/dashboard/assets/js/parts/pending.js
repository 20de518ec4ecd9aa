// All asks that wait, whatever their application, and how many wait for each reason.

import * as format from '../format.js';
import { h, pager, state, table } from '../dom.js';
import { applicationLink, askLink, nodeLink, noneLike, queueLink } from './links.js';
import { beginsWith, createFilters, offsetOf } from './filters.js';
import { listTabs } from './applist.js';
import { fewAmounts, kindChooser } from './kindchoice.js';
import { readQueues } from './queuelist.js';
import { guaranteeStates, words } from './guaranteestate.js';
import { askClasses, capital, classOptions } from './words.js';

const pageSize = 50;

// The reasons why asks wait, the most common first, and what each means.
export const reasons = {
  'no node has room': 'No node has enough free for it',
  'queue quota exceeded': 'A queue on its way to the root would use more than its max',
  'room is being made': 'Others are evicted, and it gets their place',
  'refused on every node with room': 'The resource manager refuses it there: affinity, taints, ports or volumes',
  'required node has no room': 'It may run on one node only, which is full',
  'required node has not been schedulable yet': 'It may run on one node only, which is new: what runs there may not be known',
  'required node is not known': 'It may run on one node only, which is not there',
  'not tried yet': 'It just came, others come first, or its application backs off',
  'binding failed': 'It was placed, and the resource manager could not start it there',
  'preemption stopped, as it repeats itself': 'Room was made for it again and again',
  'no node has a resource kind of it': 'It asks for a kind of resource that no node has',
  'waits for a placeholder of its task group': 'It takes the place of one, and none is placed yet',
  'its placeholder is being released': 'It runs as soon as the placeholder has ended',
  'its group cannot start': 'So many of its gang or pod group start together, or none',
  'user limit exceeded': 'Its user would use more than its limit in a queue on its way to the root',
  'group limit exceeded': 'The group that its application counts for would use more than its limit in a queue',
  'too many applications of a queue': 'As many applications run in a queue as may',
  'too many applications of a user': 'As many applications of its user run in a queue as may',
  'too many applications of a group': 'As many applications of its group run in a queue as may',
  'impossible': 'No node can hold it, even when all has left that may leave',
  'its group is below its minimum': 'Its group has started and lost members; too few are there, or fit, for what it lacks',
};

export function pendingList(ctx) {
  const filters = createFilters(ctx, 'applications');
  const longest = 'requestTime'; // the longest wait first
  let rows = [], total = 0, counts = [], queues = [];

  async function load(signal) {
    const { query } = ctx.route();
    const where = ctx.api.path('partition', ctx.partition(), 'asks');
    const params = { application: beginsWith(query.get('text')), user: beginsWith(query.get('user')), queue: query.get('queue'), node: query.get('node'), priority: query.get('priority'), class: query.get('class'), guaranteeState: query.get('guaranteeState') };
    const fields = 'allocationKey,applicationId,queueName,user,resource,priority,requestTime,why,detail,nominatedNode,reservedNode';
    const page = ctx.api.get(where, { params: { ...params, why: query.get('why'), sort: query.get('sort') ?? longest, limit: pageSize, offset: offsetOf(query), fields, count: 'why' }, signal });
    const [listed, paths] = await Promise.all([page, readQueues(ctx, signal)]);
    ({ data: rows, total } = listed);
    counts = Object.entries(listed.counts).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    queues = paths;
  }

  function show() {
    const { query } = ctx.route();
    const all = counts.reduce((sum, [, n]) => sum + n, 0);
    return [
      h('div', { class: 'toolbar' }, h('h1', null, 'Pending asks'), listTabs(ctx, 'pending')),
      h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Filter' }, filters.fields(
        { name: 'text', kind: 'search', label: 'Application begins with' },
        { name: 'queue', kind: 'select', label: 'Queue', options: [['', 'All queues'], ...queues] },
        { name: 'user', kind: 'text', label: 'User' },
        { name: 'priority', kind: 'text', label: 'Priority' },
        { name: 'class', kind: 'select', label: 'Class', options: classOptions('Any class', askClasses) },
        { name: 'guaranteeState', kind: 'select', label: 'Guarantee', options: [['', 'Any guarantee'], ...guaranteeStates.map((guaranteeState) => [guaranteeState, `Queue ${words[guaranteeState].toLowerCase()}`])] },
        { name: 'node', kind: 'text', label: 'Node', placeholder: 'Node kept for it' }), kindChooser(format.known(), ctx.refresh)),
      all > 0 && reasonList(query.get('why') ?? '', all),
      rows.length === 0 && offsetOf(query) === 0 ? nothing(query) : h('div', { class: 'card' },
        table({
          label: 'Pending asks', columns: columns(), rows, sort: { by: query.get('sort') ?? longest, onsort: (by) => filters.change({ sort: by === longest ? '' : by }) }, key: (a) => `${a.applicationId} ${a.allocationKey}`,
          onrow: (a) => ctx.go(ctx.link('applications', [a.applicationId, a.allocationKey])),
        }),
        pager({ offset: offsetOf(query), limit: pageSize, total, onpage: filters.page, noun: 'asks' })),
    ];
  }

  function reasonList(chosen, all) {
    const one = (why, n, title) => h('button', {
      type: 'button', class: 'reason', 'aria-pressed': why === chosen ? 'true' : 'false', title,
      onclick: () => filters.change({ why: why === chosen ? '' : why }),
    }, h('span', { class: 'reason-count' }, format.count(n)), why ? capital(why) : 'All');
    return h('div', { class: 'reasons', role: 'group', 'aria-label': 'Why they wait' },
      one('', all, 'All that wait'), counts.map(([why, n]) => one(why, n, reasons[why])));
  }

  function nothing(query) {
    if (['text', 'queue', 'user', 'node', 'why', 'priority', 'class', 'guaranteeState'].some((name) => query.get(name))) {
      return noneLike('No ask waits like that', ctx.link('applications', [], { view: 'pending' }));
    }
    return state('empty', 'Nothing waits', 'Everything that was asked for runs.');
  }

  function columns() {
    return [
      { head: 'Ask', class: 'whole', sort: 'allocationKey', cell: (a) => askLink(ctx, a.applicationId, a.allocationKey) },
      { head: 'Why it waits', sort: 'why', cell: (a) => whyCell(ctx, a) },
      { head: 'Asks for', cell: (a) => fewAmounts(a.resource) },
      { head: 'Priority', num: true, sort: 'priority', class: 'when-wide', cell: (a) => a.priority },
      { head: 'Waits', num: true, sort: 'requestTime', up: true, cell: (a) => format.age(a.requestTime, ctx.now()) },
      { head: 'Application', sort: 'applicationId', class: 'when-wide', cell: (a) => applicationLink(ctx, a.applicationId) },
      { head: 'Queue', sort: 'queueName', class: 'when-wide', cell: (a) => queueLink(ctx, a.queueName) },
      { head: 'User', sort: 'user', class: 'when-wide', cell: (a) => a.user ?? '' },
    ];
  }

  return { load, show, unmount: filters.stop };
}

// whyCell says why an ask waits, what that is about, and which node it gets.
export function whyCell(ctx, ask) {
  const node = ask.nominatedNode || ask.reservedNode;
  return h('span', null, h('a', { href: ctx.link('applications', [ask.applicationId, ask.allocationKey]) }, capital(ask.why)),
    node ? [ask.nominatedNode ? ' on ' : ', kept for it is ', nodeLink(ctx, node)]
      : ask.detail && h('span', { class: 'quiet' }, `: ${ask.detail}`));
}
