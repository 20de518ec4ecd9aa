// What would come of a question: where each ask would land, what would be evicted
// for it, which others would get a place or lose one, and which queues would use more than
// their max. What comes anyway is told apart.

import * as format from '../format.js';
import { badge, h, pager, table } from '../dom.js';
import { applicationLink, askLink, copyButton, nodeLink, queueLink } from './links.js';
import { explanation } from './explanation.js';
import { fewAmounts } from './kindchoice.js';
import { capital, readable } from './words.js';

const pageSize = 20;
const longMax = 200; // rows of a list that is not turned

function outcomeOf(f) {
  if (f.refused) return 'refused';
  if (f.nodeId) return 'placed';
  return f.nominatedNode ? 'nominated' : 'waits';
}

function count(asks, outcome) { return asks.filter((f) => outcomeOf(f) === outcome).length; }

const none = 'nothing would be evicted';

// summary is an outcome in a sentence.
export function summary({ outcome: o, effect: e, body }) {
  const n = o.asks.length, told = [];
  const some = (outcome, text) => {
    const m = count(o.asks, outcome);
    if (m > 0) told.push(`${m === n ? (n === 1 ? 'it' : `all ${n}`) : format.count(m)} ${text}`);
  };
  some('placed', 'would run at once');
  some('nominated', 'would get a place for which room is made');
  some('waits', 'would wait');
  some('refused', 'would not be taken in');
  const moved = o.moved ?? [], left = moved.length - count(moved, 'placed');
  if (moved.length > 0) told.push(`${format.plural(moved.length, 'pod')} of removed nodes would be asked for anew${left > 0 ? `, of which ${format.count(left)} would not run at once` : ''}`);
  told.push(e.victims.length > 0 ? `${format.plural(e.victims.length, 'allocation')} would be evicted for that` : none);
  if (e.spared.length > 0) told.push(`${format.plural(e.spared.length, 'allocation')} would be spared`);
  if (e.others.length > 0) told.push(`${asks(e.others)} now would get a place`);
  if (e.lost.length > 0) told.push(`${asks(e.lost)} now would lose the place that ${e.lost.length === 1 ? 'it gets' : 'they get'} otherwise`);
  if (e.overUse.length > 0) told.push(`${format.plural(e.overUse.length, 'queue')} would use more than ${e.overUse.length === 1 ? 'its' : 'their'} max`);
  if (e.overLimits.length > 0) told.push(`${format.plural(e.overLimits.length, 'limit')} of users and groups would be exceeded`);
  const words = told.length > 1 ? `${told.slice(0, -1).join(', ')}, and ${told.at(-1)}` : told[0];
  return capital(`${body.config ? 'under the other configuration ' : ''}${body.nodes ? 'with the other nodes ' : ''}${words}.`);
}

function asks(list) { return `${format.plural(list.length, 'ask')} that ${list.length === 1 ? 'waits' : 'wait'}`; }

// refusedFields are the fields that a refusal is about, with what is wrong.
export function refusedFields(outcome, form) {
  const errors = new Map();
  for (const { applicationId, message } of outcome.rejected ?? []) {
    form.asks.forEach((newAsk, i) => {
      if (newAsk.application.trim() === applicationId) errors.set(`asks[${i}].${message.includes('is registered already') ? 'application' : 'queue'}`, capital(message));
    });
  }
  for (const f of outcome.asks.filter((one) => one.refused)) {
    const i = form.asks.findIndex((newAsk) => f.allocationKey === newAsk.key.trim() || Number(newAsk.count) > 1 && f.allocationKey.startsWith(`${newAsk.key.trim()}-`));
    if (i < 0) continue;
    if (form.asks[i].queue.trim() !== '' && f.refused.endsWith('is not registered')) continue; // its application is refused
    if (f.refused.endsWith('is not registered')) errors.set(`asks[${i}].application`, 'No application of that name is active. If it is new, say its queue.');
    else if (f.refused.includes(' is known ')) errors.set(`asks[${i}].key`, capital(f.refused));
  }
  return errors;
}

// outcomeView is the result: stale says that the form holds another question by now,
// and choose is told which ask is looked at, or which page.
export function outcomeView(ctx, result, { stale, choose }) {
  const { outcome: o, effect: e } = result;
  return [
    h('div', { class: 'toolbar' },
      h('h2', null, 'What would come of it'),
      h('span', { class: 'quiet' }, `on the cluster as it was at ${format.time(result.at * 1e6)}`),
      h('span', { class: 'grow' }), copyButton(ctx, 'Copy as text', () => asText(result))),
    stale && h('p', null, badge('warn', 'The form has changed'), ' Simulate it again to see what would come of that.'),
    h('p', { class: 'lead', key: 'lead' }, summary(result)),
    o.partial && h('p', { key: 'partial' }, badge('warn', 'Not all of it'), ' The simulation took too long. This is what comes at first; what comes later is missing.'),
    o.predicates === 'not asked' && h('p', { class: 'quiet', key: 'predicates' },
      'Only amounts were looked at: affinity, taints, ports and volumes may keep asks from these nodes.'),
    o.untried > 0 && h('p', { class: 'quiet', key: 'untried' }, `What would make them run was tried of the first asks that would wait, and not of ${format.count(o.untried)} more.`),
    o.budgets === 'not asked' && e.victims.length > 0 && h('p', { class: 'quiet', key: 'budgets' },
      'Disruption budgets could not be asked for: what they protect may keep running.'),
    result.body.within && e.victims.length > 0 && count(o.asks, 'waits') > 0 && h('p', { class: 'quiet', key: 'stays' },
      `What is evicted has not ended after ${result.body.within}, so the ask that gets its place waits still.`),
    o.asks.length > 0 && askOutcomes(ctx, result, choose),
    chosenAsk(ctx, result),
    victimsCard(ctx, 'What would be evicted', e.victims),
    placesCard(ctx, 'What runs on removed nodes', o.moved ?? []),
    placesCard(ctx, 'Asks that wait now and would get a place', e.others),
    placesCard(ctx, 'Asks that would lose the place that they get otherwise', e.lost),
    victimsCard(ctx, 'What would be spared', e.spared),
    e.overUse.length > 0 && overUseCard(ctx, e.overUse),
    e.overLimits.length > 0 && overLimitsCard(ctx, e.overLimits),
    anywayCard(ctx, e.anyway),
    h('details', { class: 'raw', key: 'raw' }, h('summary', null, 'The same with REST'),
      h('pre', null, `POST ws/v1/partition/${ctx.partition()}/whatif\n${JSON.stringify(result.body, null, 2)}`)),
  ];
}

function askOutcomes(ctx, result, choose) {
  const { asks } = result.outcome;
  const offset = Math.min(result.page, Math.floor((asks.length - 1) / pageSize) * pageSize);
  return card(asks.length === 1 ? 'The ask' : `The ${format.count(asks.length)} asks`,
    asks.length > 1 && spread(asks),
    table({
      label: 'What becomes of the asks', rows: asks.slice(offset, offset + pageSize), key: (f) => f.allocationKey, selected: result.chosen ?? undefined,
      columns: [
        { head: 'Ask', class: 'name', cell: (f) => nameCell(f, result, choose) },
        { head: 'What becomes of it', cell: (f) => outcomeBadge(f) },
        { head: 'Where, or why not', cell: (f) => outcomeWords(ctx, f) },
        asks.some((f) => f.waits) && { head: '', class: 'when-wide', cell: (f) => whyButton(f, result, choose) },
      ].filter(Boolean),
    }),
    asks.length > pageSize && pager({ offset, limit: pageSize, total: asks.length, onpage: (page) => choose({ page }), noun: 'asks' }));
}

const outcomes = {
  placed: ['good', 'runs at once'], nominated: ['info', 'room is made'], waits: ['warn', 'waits'], refused: ['bad', 'not taken in'],
};

function outcomeBadge(f) { return f.nodeId && f.unasked ? badge('info', 'has room') : badge(...outcomes[outcomeOf(f)]); }

function outcomeWords(ctx, f) {
  if (f.refused) return capital(readable(f.refused));
  if (f.nodeId || f.nominatedNode) return ['on ', nodeLink(ctx, f.nodeId || f.nominatedNode)];
  if (!f.waits) return 'Why is not known';
  return [capital(f.waits.why), f.waits.detail && h('span', { class: 'quiet' }, `: ${readable(f.waits.detail)}`)];
}

// nameCell is an ask, which leads to why as well where there is no room for a button.
function nameCell(f, result, choose) {
  if (!f.waits) return f.allocationKey;
  return h('button', { type: 'button', class: 'plain', title: 'Why', onclick: () => choose({ chosen: f.allocationKey }) }, f.allocationKey);
}

function whyButton(f, result, choose) {
  if (!f.waits) return null;
  const open = result.chosen === f.allocationKey;
  return h('button', {
    type: 'button', 'aria-expanded': open ? 'true' : 'false', 'aria-label': `${open ? 'Hide why' : 'Why'}, about ${f.allocationKey}`,
    onclick: () => choose({ chosen: open ? null : f.allocationKey }),
  }, open ? 'Hide' : 'Why');
}

// spread is on how many nodes asks would run, and where most of them.
function spread(asks) {
  const on = new Map();
  for (const f of asks) if (f.nodeId) on.set(f.nodeId, (on.get(f.nodeId) ?? 0) + 1);
  if (on.size === 0) return null;
  const [node, most] = [...on].reduce((best, one) => (one[1] > best[1] ? one : best));
  if (on.size === 1) return h('p', { class: 'quiet' }, `Those that run are all on ${node}.`);
  return h('p', { class: 'quiet' }, `On ${format.plural(on.size, 'node')}, at most ${format.count(most)} on one${most > 1 ? `, such as ${node}` : ''}.`);
}

function chosenAsk(ctx, result) {
  const f = result.outcome.asks.find((one) => one.allocationKey === result.chosen);
  if (!f?.waits) return null;
  return h('section', { class: 'whatif-why', 'aria-label': `Why, about ${f.allocationKey}`, key: 'why' },
    h('h2', null, f.nominatedNode ? `How ${f.allocationKey} would get its place` : `Why ${f.allocationKey} would wait`),
    h('div', { class: 'why' }, explanation(ctx, f.waits)));
}

function victimsCard(ctx, title, victims) {
  return victims.length > 0 && card(title, victimsTable(ctx, title, victims));
}

function victimsTable(ctx, label, victims) {
  return [table({
    label, rows: victims.slice(0, longMax), key: (v) => `${v.applicationId} ${v.allocationKey}`,
    columns: [
      { head: 'Allocation', class: 'name', cell: (v) => askLink(ctx, v.applicationId, v.allocationKey) },
      { head: 'Application', class: 'name', cell: (v) => applicationLink(ctx, v.applicationId) ?? h('span', { class: 'quiet' }, 'of another scheduler') },
      { head: 'Why', cell: (v) => capital(readable(v.message)) },
    ],
  }), rest(victims)];
}

function placesCard(ctx, title, places) {
  return places.length > 0 && card(title, placesTable(ctx, title, places));
}

function placesTable(ctx, label, places) {
  return [table({
    label, rows: places.slice(0, longMax), key: (f) => f.allocationKey,
    columns: [
      { head: 'Ask', class: 'name', cell: (f) => f.allocationKey },
      { head: 'How', cell: (f) => outcomeBadge(f) },
      { head: 'Where', cell: (f) => outcomeWords(ctx, f) },
    ],
  }), rest(places)];
}

function overUseCard(ctx, overUse) {
  return card('Which queues would use more than their max', table({
    label: 'Queues over their max', rows: overUse, key: (b) => b.queueName,
    columns: [
      { head: 'Queue', cell: (b) => queueLink(ctx, b.queueName) },
      { head: 'Over by', cell: (b) => h('span', { class: 'bad-text' }, fewAmounts(b.by)) },
      overUse.some((b) => b.now) && { head: 'Anyway by', cell: (b) => fewAmounts(b.now, '–') },
    ].filter(Boolean),
  }));
}

// owner is whose limit it is.
function owner(b) { return b.user ? `user ${b.user}` : `group ${b.group}`; }

function overBy(b) { return [b.by && format.amounts(b.by), b.applications && format.plural(b.applications, 'application')].filter(Boolean).join(' · '); }

function overLimitsCard(ctx, overLimits) {
  return card('Which users and groups would use more than their limits', table({
    label: 'Users and groups over their limits', rows: overLimits, key: (b) => `${b.queueName} ${owner(b)}`,
    columns: [
      { head: 'Of', cell: (b) => capital(owner(b)) },
      { head: 'In queue', cell: (b) => queueLink(ctx, b.queueName) },
      { head: 'Over by', cell: (b) => h('span', { class: 'bad-text' }, overBy(b)) },
    ],
  }));
}

// anywayCard is what happens with or without the question.
function anywayCard(ctx, { victims, others }) {
  if (victims.length + others.length === 0) return null;
  return h('details', { class: 'card question-card', key: 'anyway' },
    h('summary', null, `What comes anyway: ${format.plural(victims.length, 'allocation')} evicted, ${format.plural(others.length, 'place')} for asks that wait`),
    victims.length > 0 && h('div', { class: 'section' }, h('h3', null, 'Evicted'), victimsTable(ctx, 'Evicted anyway', victims)),
    others.length > 0 && h('div', { class: 'section' }, h('h3', null, 'Get a place'), placesTable(ctx, 'Get a place anyway', others)));
}

function rest(list) { return list.length > longMax && h('p', { class: 'quiet' }, `and ${format.count(list.length - longMax)} more`); }

function card(title, ...content) { return h('section', { class: 'card', key: title }, h('h2', null, title), content); }

// asText is an outcome to send.
function asText(result) {
  const { outcome: o, effect: e } = result, lines = [`What if, at ${format.date(result.at * 1e6)}: ${JSON.stringify(result.body)}`, summary(result)];
  if (o.partial) lines.push('The simulation took too long: this is what comes at first.');
  for (const f of o.asks) {
    if (f.refused) lines.push(`${f.allocationKey} would not be taken in: ${f.refused}`);
    else if (f.nodeId) lines.push(`${f.allocationKey} would run on ${f.nodeId} at once`);
    else lines.push(...(f.waits?.lines ?? [`${f.allocationKey} would wait`]));
  }
  const named = (v) => `${v.allocationKey} of ${v.applicationId || 'another scheduler'}`;
  for (const v of e.victims) lines.push(`${named(v)} would be evicted: ${v.message}`);
  for (const v of e.spared) lines.push(`${named(v)} would be spared`);
  for (const f of o.moved ?? []) lines.push(`${f.allocationKey} of a removed node ${f.nodeId ? `would run on ${f.nodeId}` : 'would wait'}`);
  for (const f of e.others) lines.push(`${f.allocationKey} waits now and would get a place on ${f.nodeId || f.nominatedNode}`);
  for (const f of e.lost) lines.push(`${f.allocationKey} waits now and would lose its place on ${f.nodeId || f.nominatedNode}`);
  for (const b of e.overUse) lines.push(`${b.queueName} would use ${format.amounts(b.by)} more than its max`);
  for (const b of e.overLimits) lines.push(`${owner(b)} would use ${overBy(b)} more than the limit in ${b.queueName}`);
  return lines.join('\n');
}
