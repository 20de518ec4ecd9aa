// One plan explained: what for, what was evicted, what was tried, what came of it.

import * as format from '../format.js';
import { badge, h, pairs, state, table } from '../dom.js';
import { applicationLink, askLink, copyButton, nodeLink, queueLink } from './links.js';
import { planView } from './plan.js';
import { fewAmounts } from './kindchoice.js';
import { capital } from './words.js';

const outcomes = {
  'under way': ['info', 'An eviction is under way, or the ask is not placed yet'],
  placed: ['good', 'The ask runs'],
  freed: ['good', 'All evicted allocations have ended'],
  cleared: ['warn', 'The ask lost the node that it had in view'],
  'planned anew': ['warn', 'It was not enough, so another plan was made'],
  withdrawn: ['plain', 'The ask waits no more'],
};

const states = { releasing: 'info', overdue: 'bad', ended: 'plain' };

// outcomeBadge is what came of a plan.
export function outcomeBadge(p) {
  const [tone, title] = outcomes[p.outcome] ?? ['plain', ''];
  return badge(tone, p.outcome || 'unknown', p.outcomeReason || title);
}

// findPlan resolves to a plan that is not on the page that was read, or to null. The
// plans since it was made end with it.
export async function findPlan(ctx, at, signal) {
  const where = ctx.api.path('partition', ctx.partition(), 'preemptions');
  if (!/^\d+$/.test(at.time)) return null;
  // Times are read as floating-point numbers, which are exact to some 256 ns.
  const since = String(BigInt(at.time) - 1000n);
  const { total } = await ctx.api.get(where, { params: { since, limit: 1, fields: 'time' }, signal });
  const { data } = await ctx.api.get(where, { params: { since, limit: 20, offset: Math.max(0, total - 20) }, signal });
  return data.find((p) => p.time === Number(at.time) && (p.allocationKey || p.queueName) === at.key) ?? null;
}

// planDetails is the pane of a plan; null is one that is not kept.
export function planDetails(ctx, p, close) {
  const head = (title, ...more) => h('div', { class: 'details-head' }, h('h2', null, title), more,
    h('button', { type: 'button', class: 'icon', 'aria-label': 'Close the details', onclick: close }, '✕'));
  if (!p) {
    return h('aside', { class: 'details', 'aria-label': 'Plan' }, head('Not kept any more'),
      state('empty', 'This plan is not known', 'Only the last plans are kept.'));
  }
  const victims = p.victims ?? [];
  return h('aside', { class: 'details', 'aria-label': 'Plan', key: `${p.time} ${p.allocationKey || p.queueName}` },
    head(p.allocationKey ? ['Room for ', askLink(ctx, p.applicationId, p.allocationKey)] : ['Over its max: ', queueLink(ctx, p.queueName)]),
    h('div', { class: 'toolbar' }, outcomeBadge(p), h('span', { class: 'grow' }),
      copyButton(ctx, 'Copy link', () => location.href), copyButton(ctx, 'Copy as text', () => planText(p))),
    pairs(
      ['Made', `${format.date(p.time)} (${format.age(p.time, ctx.now())} ago)`],
      ['Trigger', capital(p.trigger)],
      ['Application', applicationLink(ctx, p.applicationId)],
      ['Queue', queueLink(ctx, p.queueName)],
      ['Room on', nodeLink(ctx, p.nodeId)],
      ['Outcome', outcomeWords(ctx, p)]),
    h('div', { class: 'section' }, h('h3', null, `Victims (${victims.length})`), victimTable(ctx, p, victims)),
    h('div', { class: 'section' }, h('h3', null, 'How that was decided'),
      planView(ctx, p, { applicationOf: (key) => victims.find((v) => v.allocationKey === key)?.applicationId, victims: false, trigger: false })));
}

// outcomeText is the same in words.
export function outcomeText(p) {
  return `${capital(p.outcome)}${p.placedNode ? ` on ${p.placedNode}` : ''}${p.outcomeReason ? `: ${p.outcomeReason}` : ''}`;
}

function outcomeWords(ctx, p) {
  const after = p.outcomeTime ? ` after ${format.duration(p.outcomeTime - p.time)}` : '';
  return [capital(p.outcome), p.placedNode && [' on ', nodeLink(ctx, p.placedNode)], after, p.outcomeReason && `: ${p.outcomeReason}`];
}

function victimTable(ctx, p, victims) {
  return table({
    label: 'Victims', rows: victims, key: (v) => v.allocationKey, empty: 'None',
    columns: [
      { head: 'Allocation', cell: (v) => [askLink(ctx, v.applicationId, v.allocationKey), !v.applicationId && h('span', { class: 'quiet' }, ' of another scheduler')] },
      { head: 'Holds', cell: (v) => fewAmounts(v.resource) },
      { head: 'Priority', num: true, title: 'Its own, and as the queue of the ask sees it, which decided', cell: (v) => (v.ownPriority === v.priority ? v.priority : `${v.ownPriority}, seen as ${v.priority}`) },
      { head: 'Ran', num: true, title: 'Until it ended or was chosen', cell: (v) => (v.runTime ? format.duration(v.runTime) : '–') },
      { head: 'Lost work', title: 'What it held, times the hours that it ran', cell: (v) => lostWork(v.lostWork) },
      victims.some((v) => v.nodeId !== p.nodeId) && { head: 'Node', cell: (v) => nodeLink(ctx, v.nodeId) },
      { head: 'State', cell: (v) => [badge(states[v.state] ?? 'plain', v.state), v.endTime && h('span', { class: 'quiet' }, ` after ${format.duration(v.endTime - p.time)}`)] },
    ].filter(Boolean),
  });
}

// lostWork is amounts times seconds, in hours.
export function lostWork(amounts) { return fewAmounts(hours(amounts), '–'); }

function hours(amounts) { return Object.fromEntries(Object.entries(amounts ?? {}).map(([kind, n]) => [kind, n / 3600])); }

// planText is a plan as text to send.
function planText(p) {
  const what = p.allocationKey ? `room for ${p.allocationKey} of application ${p.applicationId}` : `queue ${p.queueName} is over its max`;
  return [`${format.date(p.time)}: ${what}, by ${p.trigger}${p.nodeId ? `, on node ${p.nodeId}` : ''}: ${p.outcome}`, ...p.lines,
    ...(p.victims ?? []).map((v) => `  victim     ${v.allocationKey}${v.applicationId ? ` of ${v.applicationId}` : ''} on ${v.nodeId}: ${v.state}${v.runTime ? `, ${v.endTime ? 'ran' : 'had run'} ${format.duration(v.runTime)}` : ''}, priority ${v.ownPriority}`)].join('\n');
}
