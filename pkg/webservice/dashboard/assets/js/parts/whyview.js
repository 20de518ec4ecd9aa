// One ask or allocation: why it waits, or what needed its place.

import * as format from '../format.js';
import { badge, h, pairs, state, table } from '../dom.js';
import { applicationLink, askLink, copyButton, crumbs, nodeLink, queueLink } from './links.js';
import { askedFor, explanation, readLines } from './explanation.js';
import { lifeCard } from './life.js';
import { planView } from './plan.js';
import { lostWork, outcomeText } from './plandetails.js';
import { capital, readable } from './words.js';

export function whyView(ctx, id, key) {
  let e = null;
  let plan = null; // the plan for which an allocation is evicted, as it is kept
  let waited = []; // why an ask waited so far

  async function load(signal) {
    try {
      ({ data: e } = await ctx.api.get(ctx.api.path('partition', ctx.partition(), 'application', id, 'allocation', key, 'explain'), { signal }));
    } catch (err) {
      if (err.status !== 404) throw err;
      e = null;
    }
    [plan, waited] = [null, []];
    if (e?.eviction) plan = await keptPlan(signal);
    else if (e && !e.nodeId) waited = await log(signal);
  }

  // keptPlan is what was evicted with it, for which ask, and what came of that.
  async function keptPlan(signal) {
    // Times are read as floating-point numbers, which are exact to some 256 ns.
    const since = String(BigInt(e.eviction.time) - 1000n);
    const { data } = await ctx.api.get(ctx.api.path('partition', ctx.partition(), 'preemptions'), { params: { application: id, node: e.nodeId, since }, signal });
    const mine = data.filter((p) => p.victims?.some((v) => v.allocationKey === key));
    return mine.find((p) => p.time === e.eviction.time) ?? mine.at(-1) ?? null;
  }

  // log is why the ask waited so far: in the list of asks it comes after as many of
  // its application as the explanation says.
  async function log(signal) {
    const params = { application: id, limit: 1, offset: e.before ?? 0, fields: 'allocationKey,allocationLog,triggeredScaleUp' };
    const { data } = await ctx.api.get(ctx.api.path('partition', ctx.partition(), 'asks'), { params, signal });
    return data[0]?.allocationKey === key ? data[0].allocationLog ?? [] : [];
  }

  function show() {
    const way = crumbs(['Applications', ctx.link('applications')], [id, ctx.link('applications', [id])], [key]);
    if (!e) return [way, nothing()];
    return [way,
      h('div', { class: 'toolbar' }, h('h1', null, key), status(), h('span', { class: 'grow' }),
        copyButton(ctx, 'Copy link', () => location.href), copyButton(ctx, 'Copy as text', () => e.lines.join('\n'))),
      h('p', { class: 'lead' }, headline()),
      h('div', { class: 'why' }, facts(), e.nodeId || !e.why ? departure() : [explanation(ctx, e), waits()], lifeCard(ctx, e.life)),
      h('details', { class: 'raw', key: 'raw' }, h('summary', null, 'The same as text'), h('pre', null, e.lines.join('\n')))];
  }

  function nothing() {
    return state('empty', 'It is neither waiting nor running', `${key} of ${id} ended, or never came. What happened to it may be among the events.`,
      h('a', { class: 'button', href: ctx.link('events', [], { text: key }) }, 'Events about it'),
      h('a', { class: 'button', href: ctx.link('applications', [id]) }, 'Its application'));
  }

  // ended is so of an allocation that was evicted and has ended.
  function ended() { return Boolean(e.eviction?.endTime || readLines(e.lines).held); }

  // over is so of what has ended by itself, of which no more than its life is known.
  function over() { return !e.nodeId && !e.why; }

  function status() {
    if (ended()) return badge('plain', 'evicted, and ended');
    if (over()) return badge('plain', 'ended');
    if (e.eviction) return e.eviction.overdue ? badge('bad', 'evicted, and overdue') : badge('warn', 'evicted');
    if (e.nodeId) return badge('good', 'running');
    return e.nominatedNode ? badge('info', 'room is being made') : badge('warn', 'waiting');
  }

  function headline() {
    if (over()) return 'It has ended.';
    if (!e.nodeId) {
      return [`${capital(e.why)}`, e.nominatedNode ? [' on ', nodeLink(ctx, e.nominatedNode)] : e.detail && `: ${readable(e.detail)}`, '.'];
    }
    const l = e.eviction;
    if (!l) return ['It runs on ', nodeLink(ctx, e.nodeId), ', undisturbed.'];
    const went = l.endTime ? `, and ended ${format.duration(l.endTime - l.time)} later.` : ended() ? ', and has ended.' : '.';
    if (!l.for) return ['It was evicted, as its queue used more than its max', went];
    return ['It was evicted to make room for ', askLink(ctx, plan?.applicationId, l.for), `, by ${l.trigger}`, went];
  }

  function facts() {
    const told = readLines(e.lines);
    const asked = askedFor((told['asks for'] ?? told.holds ?? told.held)?.[0]);
    return h('section', { class: 'card' }, h('h2', null, ended() || over() ? 'What it was' : e.nodeId ? 'What it is' : 'What it asks for'), pairs(
      ...format.kinds(asked.amounts).map((kind) => [format.kindName(kind), format.amount(kind, asked.amounts[kind])]),
      ['Priority', asked.priority],
      ['Application', applicationLink(ctx, e.applicationId)],
      ['Queue', queueLink(ctx, e.queueName)],
      [ended() ? 'Ran on' : 'Node', e.nodeId && nodeLink(ctx, e.nodeId)]),
    h('p', { class: 'more' }, h('a', { href: ctx.link('events', [], { text: key }) }, 'Events about it'),
      e.why && [' · ', h('a', { href: ctx.link('whatif', [], { question: question(asked) }) }, 'What if it were different')]));
  }

  // question is the same ask as a what-if, with a name of its own.
  function question({ amounts, priority }) {
    return JSON.stringify({ asks: [{ allocationKey: `${key}-try`, applicationId: id, resource: amounts, priority: Number(priority ?? 0), requiredNodeId: mustRunOn(e) }] });
  }

  function departure() {
    const l = e.eviction;
    if (!l) return null;
    return h('section', { class: 'card' },
      h('h2', null, l.for ? 'What needed its place, and what else there was' : 'Why its queue evicts'),
      pairs(
        ['Needed by', l.for && askLink(ctx, plan?.applicationId, l.for)],
        ['Of application', applicationLink(ctx, l.for && plan?.applicationId)],
        ['In queue', queueLink(ctx, plan?.queueName)],
        ['Trigger', capital(l.trigger)],
        ['Evicted', `${format.date(l.time)} (${format.age(l.time, ctx.now())} ago)`],
        ['Ended', l.endTime && `${format.date(l.endTime)} (after ${format.duration(l.endTime - l.time)})`],
        [l.endTime ? 'Ran' : 'Had run', l.runTime && `${format.duration(l.runTime)}, from ${format.date(l.startTime)} on`],
        ['Lost work', l.lostWork && [lostWork(l.lostWork), h('span', { class: 'quiet' }, ' times hours')]],
        ['Overdue', l.overdue && 'It has not ended in time'],
        ['What came of it', plan && h('a', { href: ctx.link('preemption', [String(plan.time), plan.allocationKey || plan.queueName]) }, outcomeText(plan))]),
      l.plan ? planView(ctx, l.plan, { trigger: false, applicationOf: (other) => (plan?.victims ?? []).find((v) => v.allocationKey === other)?.applicationId }) : h('p', { class: 'quiet' }, 'The plan is not kept any more.'));
  }

  function waits() {
    if (waited.length < 2) return null;
    return h('section', { class: 'card' }, h('h2', null, 'Why it waited so far'), table({
      label: 'Why it waited so far', rows: [...waited].reverse(), key: (w) => w.message,
      columns: [
        { head: 'Why', cell: (w) => capital(readable(w.message)) },
        { head: 'Times', num: true, cell: (w) => format.count(w.count) },
        { head: 'Last', num: true, cell: (w) => `${format.age(w.lastOccurrence, ctx.now())} ago` },
      ],
    }));
  }

  return { load, show, up: () => ctx.link('applications', [id]) };
}

// mustRunOn is the only node on which an ask may run, if that is so: all others are in
// one group of the explanation.
function mustRunOn(e) {
  const others = 'is not the node it must run on';
  if (!e.nodes?.some((g) => g.why === others)) return undefined;
  return e.nodes.find((g) => g.why !== others)?.nearest ?? e.detail;
}
