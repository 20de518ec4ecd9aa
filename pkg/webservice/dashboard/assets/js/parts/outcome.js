// What would come of a question: where each ask would land, who would be told to go,
// who else would be placed, and which queues would use more than their max.

import * as format from '../format.js';
import { badge, h, pager, table } from '../dom.js';
import { applicationLink, askLink, copyButton, nodeLink, queueLink } from './links.js';
import { explanation } from './explanation.js';
import { capital, readable } from './words.js';

const pageSize = 50;
const longMax = 200; // rows of a list that is not turned

function fateOf(f) {
  if (f.refused) return 'refused';
  if (f.nodeId) return 'placed';
  return f.nominatedNode ? 'nominated' : 'waits';
}

function count(asks, fate) { return asks.filter((f) => fateOf(f) === fate).length; }

const none = 'nobody would be told to go';

// summary is an outcome in a sentence.
export function summary({ outcome: o, body }) {
  const n = o.asks.length, told = [];
  const some = (fate, text) => {
    const m = count(o.asks, fate);
    if (m > 0) told.push(`${m === n ? (n === 1 ? 'it' : `all ${n}`) : format.count(m)} ${text}`);
  };
  some('placed', 'would run at once');
  some('nominated', 'would get a place for which room is made');
  some('waits', 'would wait');
  some('refused', 'would not be taken in');
  told.push(o.victims.length > 0 ? `${format.plural(o.victims.length, 'allocation')} would be told to go` : none);
  if (o.others.length > 0) told.push(`${format.plural(o.others.length, 'ask')} that ${o.others.length === 1 ? 'waits' : 'wait'} now would get a place`);
  if (o.beyond.length > 0) told.push(`${format.plural(o.beyond.length, 'queue')} would use more than ${o.beyond.length === 1 ? 'its' : 'their'} max`);
  const words = told.length > 1 ? `${told.slice(0, -1).join(', ')}, and ${told.at(-1)}` : told[0];
  return capital(`${body.config ? 'under the other configuration ' : ''}${words}.`);
}

// refusedFields are the fields that a refusal is about, with what is wrong.
export function refusedFields(outcome, form) {
  const errors = new Map();
  for (const f of outcome.asks.filter((one) => one.refused)) {
    const i = form.asks.findIndex((wish) => f.allocationKey === wish.key.trim() || Number(wish.count) > 1 && f.allocationKey.startsWith(`${wish.key.trim()}-`));
    if (i < 0) continue;
    if (f.refused.endsWith('is not registered')) errors.set(`asks[${i}].application`, 'No application of that name is active.');
    else if (f.refused.includes(' is known ')) errors.set(`asks[${i}].key`, capital(f.refused));
  }
  return errors;
}

// outcomeView is the result: stale says that the form holds another question by now,
// and choose is told which ask is looked at, or which page.
export function outcomeView(ctx, result, { stale, choose }) {
  const { outcome: o } = result;
  return [
    h('div', { class: 'toolbar' },
      h('h2', null, 'What would come of it'),
      h('span', { class: 'quiet' }, `on the cluster as it was at ${format.time(result.at * 1e6)}`),
      h('span', { class: 'grow' }), copyButton(ctx, 'Copy as text', () => asText(result))),
    stale && h('p', null, badge('warn', 'The form has changed'), ' Play it again to see what would come of that.'),
    h('p', { class: 'lead' }, summary(result)),
    o.asks.length > 0 && fatesCard(ctx, result, choose),
    chosenAsk(ctx, result),
    o.victims.length > 0 && victimsCard(ctx, o.victims),
    o.others.length > 0 && othersCard(ctx, o.others),
    o.beyond.length > 0 && beyondCard(ctx, o.beyond),
    h('details', { class: 'raw', key: 'raw' }, h('summary', null, 'The same with REST'),
      h('pre', null, `POST ws/v1/partition/${ctx.partition()}/whatif\n${JSON.stringify(result.body, null, 2)}`)),
  ];
}

function fatesCard(ctx, result, choose) {
  const { asks } = result.outcome;
  const offset = Math.min(result.page, Math.floor((asks.length - 1) / pageSize) * pageSize);
  return card(asks.length === 1 ? 'The ask' : `The ${format.count(asks.length)} asks`,
    asks.length > 1 && spread(asks),
    table({
      label: 'What becomes of the asks', rows: asks.slice(offset, offset + pageSize), key: (f) => f.allocationKey, selected: result.chosen ?? undefined,
      columns: [
        { head: 'Ask', cell: (f) => f.allocationKey },
        { head: 'What becomes of it', cell: (f) => fateBadge(f) },
        { head: 'Where, or why not', cell: (f) => fateWords(ctx, f) },
        asks.some((f) => f.waits) && { head: '', cell: (f) => whyButton(f, result, choose) },
      ].filter(Boolean),
    }),
    asks.length > pageSize && pager({ offset, limit: pageSize, total: asks.length, onpage: (page) => choose({ page }), noun: 'asks' }));
}

const fates = {
  placed: ['good', 'runs at once'], nominated: ['info', 'room is made'], waits: ['warn', 'waits'], refused: ['bad', 'not taken in'],
};

function fateBadge(f) { return badge(...fates[fateOf(f)]); }

function fateWords(ctx, f) {
  if (f.refused) return capital(readable(f.refused));
  if (f.nodeId || f.nominatedNode) return ['on ', nodeLink(ctx, f.nodeId || f.nominatedNode)];
  if (!f.waits) return 'Why is not known';
  return [capital(f.waits.why), f.waits.detail && h('span', { class: 'quiet' }, `: ${readable(f.waits.detail)}`)];
}

function whyButton(f, result, choose) {
  if (!f.waits) return null;
  const open = result.chosen === f.allocationKey;
  return h('button', {
    type: 'button', 'aria-expanded': open ? 'true' : 'false', 'aria-label': `Why, about ${f.allocationKey}`,
    onclick: () => choose({ chosen: open ? null : f.allocationKey }),
  }, open ? 'Hide' : 'Why');
}

// spread is on how many nodes asks would run, and where most of them.
function spread(asks) {
  const on = new Map();
  for (const f of asks) if (f.nodeId) on.set(f.nodeId, (on.get(f.nodeId) ?? 0) + 1);
  if (on.size === 0) return null;
  const [node, most] = [...on].reduce((best, one) => (one[1] > best[1] ? one : best));
  return h('p', { class: 'quiet' }, `On ${format.plural(on.size, 'node')}, at most ${format.count(most)} on one${on.size > 1 && most > 1 ? `, such as ${node}` : ''}.`);
}

function chosenAsk(ctx, result) {
  const f = result.outcome.asks.find((one) => one.allocationKey === result.chosen);
  if (!f?.waits) return null;
  return h('section', { class: 'whatif-why', 'aria-label': `Why, about ${f.allocationKey}`, key: 'why' },
    h('h2', null, f.nominatedNode ? `How ${f.allocationKey} would get its place` : `Why ${f.allocationKey} would wait`),
    h('div', { class: 'why' }, explanation(ctx, f.waits)));
}

function victimsCard(ctx, victims) {
  return card('Who would be told to go', table({
    label: 'Who would be told to go', rows: victims.slice(0, longMax), key: (v) => `${v.applicationId} ${v.allocationKey}`,
    columns: [
      { head: 'Allocation', cell: (v) => [askLink(ctx, v.applicationId, v.allocationKey), !v.applicationId && h('span', { class: 'quiet' }, ' of another scheduler')] },
      { head: 'Application', cell: (v) => applicationLink(ctx, v.applicationId) ?? '–' },
      { head: 'Why', cell: (v) => capital(readable(v.message)) },
    ],
  }), rest(victims));
}

function othersCard(ctx, others) {
  return card('Who waits now and would get a place', table({
    label: 'Who else would get a place', rows: others.slice(0, longMax), key: (f) => f.allocationKey,
    columns: [
      { head: 'Ask', cell: (f) => f.allocationKey },
      { head: 'What becomes of it', cell: (f) => fateBadge(f) },
      { head: 'Where', cell: (f) => fateWords(ctx, f) },
    ],
  }), rest(others));
}

function beyondCard(ctx, beyond) {
  return card('Which queues would use more than their max', table({
    label: 'Queues beyond their max', rows: beyond, key: (b) => b.queueName,
    columns: [
      { head: 'Queue', cell: (b) => queueLink(ctx, b.queueName) },
      { head: 'Beyond by', cell: (b) => h('span', { class: 'bad-text' }, format.amounts(b.by)) },
    ],
  }));
}

function rest(list) { return list.length > longMax && h('p', { class: 'quiet' }, `and ${format.count(list.length - longMax)} more`); }

function card(title, ...content) { return h('section', { class: 'card', key: title }, h('h2', null, title), content); }

// asText is an outcome to send to somebody.
function asText(result) {
  const { outcome: o } = result, lines = [`What if, at ${format.date(result.at * 1e6)}: ${JSON.stringify(result.body)}`, summary(result)];
  for (const f of o.asks) {
    if (f.refused) lines.push(`${f.allocationKey} would not be taken in: ${f.refused}`);
    else if (f.nodeId) lines.push(`${f.allocationKey} would run on ${f.nodeId} at once`);
    else lines.push(...(f.waits?.lines ?? [`${f.allocationKey} would wait`]));
  }
  for (const v of o.victims) lines.push(`${v.allocationKey} of ${v.applicationId || 'another scheduler'} would be told to go: ${v.message}`);
  for (const f of o.others) lines.push(`${f.allocationKey} waits now and would get a place on ${f.nodeId || f.nominatedNode}`);
  for (const b of o.beyond) lines.push(`${b.queueName} would use ${format.amounts(b.by)} more than its max`);
  return lines.join('\n');
}
