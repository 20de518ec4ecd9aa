// One ask or allocation: why it waits, or who needed its place.

import * as format from '../format.js';
import { badge, h, pairs, state } from '../dom.js';
import { applicationLink, askLink, copyButton, crumbs, nodeLink, queueLink } from './links.js';
import { askedFor, explanation, readLines } from './explanation.js';
import { planStory } from './plan.js';
import { capital, readable } from './words.js';

export function whyView(ctx, id, key) {
  let e = null, owner = null; // owner is who needed the place of an allocation that leaves

  async function load(signal) {
    try {
      ({ data: e } = await ctx.api.get(ctx.api.path('partition', ctx.partition(), 'application', id, 'allocation', key, 'explain'), { signal }));
    } catch (err) {
      if (err.status !== 404) throw err;
      e = null;
    }
  }

  function show() {
    const way = crumbs(['Applications', ctx.link('applications')], [id, ctx.link('applications', [id])], [key]);
    if (!e) return [way, gone()];
    return [way,
      h('div', { class: 'toolbar' }, h('h1', null, key), status(), h('span', { class: 'grow' }),
        copyButton(ctx, 'Copy link', () => location.href), copyButton(ctx, 'Copy as text', () => e.lines.join('\n'))),
      h('p', { class: 'lead' }, headline()),
      h('div', { class: 'why' }, facts(), e.nodeId ? departure() : explanation(ctx, e)),
      h('details', { class: 'raw', key: 'raw' }, h('summary', null, 'The same as text'), h('pre', null, e.lines.join('\n')))];
  }

  function gone() {
    return state('empty', 'It is neither waiting nor running', `${key} of ${id} ended, or never came. What happened to it may be among the events.`,
      h('a', { class: 'button', href: ctx.link('events', [], { text: key }) }, 'Events about it'),
      h('a', { class: 'button', href: ctx.link('applications', [id]) }, 'Its application'));
  }

  function status() {
    if (e.leaving) return e.leaving.stuck ? badge('bad', 'told to go, and stuck') : badge('warn', 'told to go');
    if (e.nodeId) return badge('good', 'running');
    return e.nominatedNode ? badge('info', 'room is being made') : badge('warn', 'waiting');
  }

  function headline() {
    if (!e.nodeId) {
      return [`${capital(e.why)}`, e.nominatedNode ? [' on ', nodeLink(ctx, e.nominatedNode)] : e.detail && `: ${readable(e.detail)}`, '.'];
    }
    const l = e.leaving;
    if (!l) return ['It runs on ', nodeLink(ctx, e.nodeId), ', and nobody told it to go.'];
    if (!l.for) return 'It was told to go, as its queue uses more than its max and gives back.';
    return ['It was told to go to make room for ', askLink(ctx, owner, l.for), `, by ${l.trigger}.`];
  }

  function facts() {
    const told = readLines(e.lines);
    const asked = askedFor((told['asks for'] ?? told.holds)?.[0]);
    return h('section', { class: 'card' }, h('h2', null, e.nodeId ? 'What it is' : 'What it asks for'), pairs(
      ...format.kinds(asked.amounts).map((kind) => [format.kindName(kind), format.amount(kind, asked.amounts[kind])]),
      ['Priority', asked.priority],
      ['Application', applicationLink(ctx, e.applicationId)],
      ['Queue', queueLink(ctx, e.queueName)],
      ['Node', e.nodeId && nodeLink(ctx, e.nodeId)]),
    h('p', { class: 'more' }, h('a', { href: ctx.link('events', [], { text: key }) }, 'Events about it'),
      !e.nodeId && [' · ', h('a', { href: ctx.link('whatif', [], { question: question(asked) }) }, 'What if it were different')]));
  }

  // question is the same ask as a what-if, with a name of its own.
  function question({ amounts, priority }) {
    return JSON.stringify({ asks: [{ allocationKey: `${key}-try`, applicationId: id, resource: amounts, priority: Number(priority ?? 0), requiredNodeId: mustRunOn(e) }] });
  }

  function departure() {
    const l = e.leaving;
    if (!l) return null;
    return h('section', { class: 'card' },
      h('h2', null, l.for ? 'Who needed its place, and what else there was' : 'Why its queue gives back'),
      pairs(
        ['Needed by', l.for && askLink(ctx, owner, l.for)],
        ['Trigger', capital(l.trigger)],
        ['Told to go', `${format.date(l.time)} (${format.age(l.time, ctx.now())} ago)`],
        ['Stuck', l.stuck && 'It has not gone in time']),
      l.plan ? planStory(ctx, l.plan) : h('p', { class: 'quiet' }, 'The plan is not kept any more.'));
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
