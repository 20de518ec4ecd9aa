// Preemption: the last plans to make room, what came of each, and how often it
// happened.
//
//   #/preemption                   the log; ?trigger=, application=, user=, class=, node=, offset=
//   #/preemption/TIME/KEY          with one plan explained: when it was made, for which
//                                  ask or queue
import * as format from '../format.js';
import { h, pager, state, table } from '../dom.js';
import { createViewer } from '../parts/viewer.js';
import { beginsWith, createFilters, offsetOf } from '../parts/filters.js';
import { askLink, nodeLink, noneLike, queueLink } from '../parts/links.js';
import { readMetrics } from '../parts/metrics.js';
import { findPlan, lostWork, outcomeBadge, planDetails } from '../parts/plandetails.js';
import { capital, classes, classOptions, victimClasses } from '../parts/words.js';

const pageSize = 50;
const victimsShown = 2;
const mostShown = 8; // of the pods that were preempted most
const lossesShown = 50; // of the queues and users that lost work on a day

// Why room is made, as docs/preemption.md tells it.
const triggers = {
  'required node': 'An ask may run on one node only, such as that of a daemonset',
  priority: 'An ask is more important than its victims',
  guarantee: 'An ask is within the guarantee of its queue, and its victims are above those of theirs',
  quota: 'A queue uses more than its max, since that was lowered',
};

// What is counted since the start, and what each count means.
const counters = [
  ['plans', 'Plans', 'Plans to make room'],
  ['victims', 'Preempted', 'Pods that were evicted to make room'],
  ['nominations', 'Nominations', 'Asks that were nominated to a node where room is made'],
  ['cleared', 'Cleared', 'Nominations that were taken back'],
  ['wasted', 'Wasted', 'Evicted allocations whose room was not used by an ask that waited for it'],
  ['overdue', 'Overdue', 'Evicted allocations that did not end in time'],
  ['loops', 'Loops', 'Applications that were stopped because they preempted again and again'],
];

export default {
  id: 'preemption',
  title: 'Preemption',
  mount: (root, ctx) => createViewer(root, ctx, () => ({ key: 'log', make: () => preemptionLog(ctx) })),
};

function preemptionLog(ctx) {
  let rows = [], total = 0, byTrigger = [], totals = {}, outcomes = [], often = [], losses = [], lossesTotal = 0, lossesOpen = false;
  let found = { at: '', plan: null }; // a plan that is not among the rows
  const filters = createFilters(ctx, 'preemption');
  const where = () => ctx.api.path('partition', ctx.partition(), 'preemptions');
  const selected = () => { const { parts } = ctx.route(); return parts.length > 1 ? { time: parts[0], key: parts[1] } : null; };

  async function load(signal) {
    const { query } = ctx.route();
    const params = { application: beginsWith(query.get('application')), user: beginsWith(query.get('user')), class: query.get('class'), node: beginsWith(query.get('node')) };
    const page = ctx.api.get(where(), { params: { ...params, trigger: query.get('trigger'), victims: query.get('victims'), sort: query.get('sort'), limit: pageSize, offset: offsetOf(query), count: 'trigger' }, signal });
    const most = ctx.api.get(ctx.api.path('partition', ctx.partition(), 'victims'), { params: { ...params, node: '', limit: mostShown }, signal });
    const lost = lossesOpen ? ctx.api.get(ctx.api.path('partition', ctx.partition(), 'losses'), { params: { user: params.user, limit: lossesShown }, signal }) : { data: [], total: 0 };
    const [listed, partition, metrics, pods, work] = await Promise.all([
      page, ctx.api.get('partitions', { params: { fields: 'clusterId,name,preempted' }, signal }), readMetrics(ctx, signal), most, lost,
    ]);
    ({ data: often } = pods);
    ({ data: losses, total: lossesTotal } = work);
    ({ data: rows, total } = listed);
    outcomes = metrics?.outcomes ?? [];
    byTrigger = Object.keys(triggers).map((trigger) => [trigger, listed.counts[trigger] ?? 0]);
    totals = partition.data.find((p) => [p.name, `[${p.clusterId}]${p.name}`].includes(ctx.partition()))?.preempted ?? {};
    const at = selected();
    if (at && !rows.some((p) => isAt(p, at)) && found.at !== nameOf(at)) found = { at: nameOf(at), plan: await findPlan(ctx, at, signal) };
  }

  function show() {
    const { query } = ctx.route(), at = selected();
    return [
      h('div', { class: 'toolbar' }, h('h1', null, 'Preemption'), h('span', { class: 'quiet' }, 'What was evicted, for which ask, and what came of it')),
      tiles(),
      outcomes.length > 0 && outcomesCard(),
      often.length > 0 && oftenCard(),
      often.length > 0 && lossesCard(),
      h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Filter' }, triggerButtons(query.get('trigger') ?? ''), filters.fields(
        { name: 'application', kind: 'search', label: 'Application begins with' },
        { name: 'user', kind: 'text', label: 'User begins with' },
        { name: 'node', kind: 'text', label: 'Node begins with' },
        { name: 'class', kind: 'select', label: 'Class of victims', options: classOptions('Any class of victims', victimClasses) },
        { name: 'victims', kind: 'select', label: 'Victims', options: [['', 'With and without victims'], ['true', 'With victims'], ['false', 'Without victims']] })),
      rows.length === 0 && offsetOf(query) === 0 && !at ? nothing(query)
        : h('div', { class: ['split', at && 'has-details'] }, log(query, at), at && details(at, query)),
    ];
  }

  function details(at, query) {
    const plan = rows.find((p) => isAt(p, at)) ?? (found.at === nameOf(at) ? found.plan : undefined);
    if (plan === undefined) return h('aside', { class: 'details' }, state('loading', 'Reading the plan', 'One moment.'));
    return planDetails(ctx, plan, () => ctx.go(ctx.link('preemption', [], query)));
  }

  function tiles() {
    return h('dl', { class: 'tiles', 'aria-label': 'Since the start of the scheduler' }, counters.map(([name, text, title]) =>
      h('div', { class: ['tile', ['overdue', 'loops'].includes(name) && totals[name] > 0 && 'tile-warn'], title },
        h('dt', null, text), h('dd', null, format.count(totals[name])))));
  }

  function outcomesCard() {
    const cell = (name) => (f) => format.count(f[name]);
    return h('details', { class: 'card more-counts', key: 'outcomes' },
      h('summary', null, 'Evictions since the start, by trigger and class'),
      table({
        label: 'Evictions by trigger and class', rows: outcomes, key: (f) => `${f.trigger} ${f.class}`,
        columns: [
          { head: 'Trigger', cell: (f) => capital(f.trigger) },
          { head: 'Class', cell: (f) => classes[f.class] ?? f.class },
          { head: 'Preempted', num: true, cell: cell('requested') },
          { head: 'Ended', num: true, title: 'In time or later', cell: cell('ended') },
          { head: 'Overdue', num: true, title: 'Did not end in time', cell: cell('overdue') },
        ],
      }));
  }

  // oftenCard is which pods were preempted most, by the plans that are kept.
  function oftenCard() {
    return h('details', { class: 'card more-counts', key: 'often' }, h('summary', null, often[0].times > 1
      ? ['Preempted most often: ', h('strong', null, often[0].podName), `, ${format.count(often[0].times)} times`] : 'Preempted most often: none more than once'),
    table({
      label: 'Pods that were preempted most often', rows: often, key: (v) => `${v.applicationId} ${v.podName}`,
      columns: [
        { head: 'Pod', cell: (v) => askLink(ctx, v.applicationId, v.allocationKey, v.podName) },
        { head: 'Times', num: true, cell: (v) => format.count(v.times) },
        { head: 'For nothing', num: true, title: 'No pod that waited for its room runs there', cell: (v) => (v.wasted ? h('span', { class: 'warn-text' }, format.count(v.wasted)) : '–') },
        { head: 'Last', num: true, cell: (v) => `${format.age(v.last, ctx.now())} ago` },
        { head: 'By', cell: (v) => capital(v.trigger) },
        { head: 'User', class: 'when-wide', cell: (v) => v.user ?? '' },
        { head: 'Queue', class: 'when-wide', cell: (v) => queueLink(ctx, v.queueName) },
      ],
    }));
  }

  // lossesCard is the work that was lost, by the plans that are kept. It is read while it is open.
  function lossesCard() {
    const more = lossesTotal - losses.length;
    return h('details', {
      class: 'card more-counts', key: 'losses', open: lossesOpen,
      ontoggle() { if (this.open !== lossesOpen) { lossesOpen = this.open; ctx.refresh(); } },
    }, h('summary', null, 'Lost work, by day, queue and user'),
      table({
        label: 'Lost work', rows: losses, key: (l) => `${l.day} ${l.queueName} ${l.user}`,
        columns: [
          { head: 'Day', class: 'nowrap', title: 'Of Greenwich', cell: (l) => l.day },
          { head: 'Queue', cell: (l) => queueLink(ctx, l.queueName) ?? '–' },
          { head: 'User', cell: (l) => l.user ?? '' },
          { head: 'Victims', num: true, cell: (l) => format.count(l.victims) },
          { head: 'For nothing', num: true, title: 'No pod that waited for their room runs there', cell: (l) => (l.wasted ? h('span', { class: 'warn-text' }, format.count(l.wasted)) : '–') },
          { head: 'Ran', num: true, title: 'All together', cell: (l) => format.duration(l.runTime) },
          { head: 'Lost work', title: 'What they held, times the hours that they ran', cell: (l) => lostWork(l.lostWork) },
        ],
      }),
      more > 0 && h('p', { class: 'quiet' }, `and ${format.plural(more, 'more line')}, of earlier days`));
  }

  function triggerButtons(now) {
    const all = byTrigger.reduce((sum, [, n]) => sum + n, 0);
    const one = (trigger, n, title) => h('button', {
      type: 'button', class: 'reason', title, 'aria-pressed': trigger === now ? 'true' : 'false',
      onclick: () => filters.change({ trigger: trigger === now ? '' : trigger }),
    }, h('span', { class: 'reason-count' }, format.count(n)), trigger ? `by ${trigger}` : 'All kept');
    return h('div', { class: 'reasons', role: 'group', 'aria-label': 'Why room was made' },
      one('', all, 'All plans that are kept'), byTrigger.map(([trigger, n]) => one(trigger, n, triggers[trigger])));
  }

  function nothing(query) {
    if (['trigger', 'application', 'user', 'class', 'node', 'victims'].some((name) => query.get(name))) {
      return noneLike('No plan is like that', ctx.link('preemption'));
    }
    return state('empty', 'Nothing was evicted', 'Plans to make room appear here when they are made.',
      h('a', { class: 'button', href: ctx.link('applications', [], { view: 'pending' }) }, 'What waits'));
  }

  function log(query, at) {
    return h('div', { class: 'card' },
      table({
        label: 'Plans', rows, key: planKey, sort: { by: query.get('sort') ?? '', onsort: (by) => filters.change({ sort: by }) }, selected: at ? nameOf(at) : undefined,
        onrow: (p) => ctx.go(planLink(p, query)),
        columns: [
          { head: 'When', sort: 'time', class: 'nowrap', cell: (p) => h('a', { href: planLink(p, query), title: format.date(p.time), 'aria-label': `Plan of ${format.time(p.time)}, explained` }, format.time(p.time)) },
          { head: 'Ago', num: true, class: 'when-wide', cell: (p) => format.age(p.time, ctx.now()) },
          { head: 'Trigger', sort: 'trigger', cell: (p) => capital(p.trigger) },
          { head: 'For', class: 'whole', cell: (p) => (p.allocationKey ? askLink(ctx, p.applicationId, p.allocationKey) : queueLink(ctx, p.queueName)) },
          { head: 'Victims', sort: 'victims', down: true, cell: (p) => victimsCell(p.victims ?? []) },
          { head: 'Node', sort: 'nodeId', class: 'when-wide', cell: (p) => nodeLink(ctx, p.nodeId) ?? '–' },
          { head: 'Outcome', sort: 'outcome', cell: (p) => outcomeBadge(p) },
        ],
      }),
      pager({ offset: offsetOf(query), limit: pageSize, total, onpage: filters.page, noun: 'plans' }));
  }

  function victimsCell(victims) {
    if (victims.length === 0) return '–';
    return h('span', null, victims.slice(0, victimsShown).map((v, i) => [i > 0 && ', ', askLink(ctx, v.applicationId, v.allocationKey)]),
      victims.length > victimsShown && h('span', { class: 'quiet' }, ` and ${victims.length - victimsShown} more`));
  }

  function planLink(p, query) { return ctx.link('preemption', [String(p.time), p.allocationKey || p.queueName], query); }

  return { load, show, unmount: filters.stop, up: () => selected() && ctx.link('preemption', [], ctx.route().query) };
}

function nameOf(at) { return `${Number(at.time)} ${at.key}`; }

function planKey(p) { return `${p.time} ${p.allocationKey || p.queueName}`; }

function isAt(p, at) { return p.time === Number(at.time) && (p.allocationKey || p.queueName) === at.key; }
