// Why an ask waits: every node by the first reason that keeps it away, the quotas on
// the way to the root, its place, the plan to make room, and what would make it run.

import * as format from '../format.js';
import { badge, bar, h, pairs, table } from '../dom.js';
import { forecastPairs } from './life.js';
import { nodeLink, queueLink } from './links.js';
import { planView } from './plan.js';
import { capital, readable } from './words.js';

// The reasons of nodes, as REST names them: how they are marked, and what they are for
// several nodes.
const groups = {
  'is not the node it must run on': { fill: 'other', many: 'are not the node it must run on' },
  'is not in the domain of its group': { fill: 'other', many: 'are not in the domain of its group' },
  'takes nothing new': { fill: 'cordoned', many: 'take nothing new' },
  'could never hold it': { fill: 'small', many: 'could never hold it' },
  'is kept for an ask that must run there': { fill: 'kept', many: 'are kept for asks that must run there' },
  'is reserved for an ask that waited long': { fill: 'reserved', many: 'are reserved for asks that waited long' },
  'is kept for a member of a group that is to come again': { fill: 'reserved', many: 'are kept for members of groups that are to come again' },
  'has too little free': { fill: 'full', many: 'have too little free' },
  'keeps what is free for nominated asks': { fill: 'nominated', many: 'keep what is free for nominated asks' },
  'was refused by the resource manager': { fill: 'other', many: 'were refused by the resource manager' },
  'has room': { fill: 'room', many: 'have room' },
};

// readLines reads the lines for people: what stands behind each name in the margin.
export function readLines(lines) {
  const out = {};
  let last = '';
  for (const line of (lines ?? []).slice(1)) {
    const m = /^ {2}(.{10})(.*)$/.exec(line);
    if (!m) continue;
    last = m[1].trim() || last;
    (out[last] ??= []).push(m[2]);
  }
  return out;
}

// askedFor reads "memory=1024 vcore=500, priority 5" into { amounts, priority }.
export function askedFor(text) {
  const amounts = {};
  for (const m of (text ?? '').matchAll(/([\w./-]+)=(-?\d+)/g)) amounts[m[1]] = Number(m[2]);
  return { amounts, priority: /priority (-?\d+)/.exec(text ?? '')?.[1] };
}

// explanation is the cards of an ask that waits.
export function explanation(ctx, e) {
  const told = readLines(e.lines);
  const asked = askedFor(told['asks for']?.[0]);
  return [
    remedies(e),
    guaranteeCard(ctx, e.guarantee),
    nodesCard(ctx, e.nodes ?? []),
    quotaCard(ctx, e.quota ?? [], asked.amounts),
    orderCard(ctx, e, told),
    e.plan && h('section', { class: 'card' },
      h('div', { class: 'card-head' }, h('h2', null, 'The last plan to make room'), h('span', { class: 'quiet' }, `${format.age(e.plan.time, ctx.now())} ago`)),
      planView(ctx, e.plan)),
  ];
}

// remedies says what makes an ask run, as the answer does: all of the quotas and one of the
// nodes; or that nothing was found that is enough.
function remedies(e) {
  if (e.nominatedNode) {
    return card('What happens next', h('p', null, `The evicted allocations on ${e.nominatedNode} end, and it gets the place. There is nothing to do.`));
  }
  const words = (text) => capital(readable(text));
  const quotas = (e.wouldFit?.quota ?? []).map(words), nodes = (e.wouldFit?.nodes ?? []).map(words);
  const instead = (e.wouldFit?.instead ?? []).map(words);
  if (quotas.length + nodes.length === 0) return null;
  const alone = quotas.length + nodes.length === 1;
  return card(e.wouldFit.remains && instead.length === 0 ? 'What would not be enough' : 'What would make it run', h('div', { class: 'remedies' },
    instead.length > 0 && [list(instead), h('p', { class: 'quiet' }, 'What would not be enough')],
    quotas.length > 0 && [!alone && h('p', { class: 'quiet' }, quotas.length > 1 ? 'All of these' : 'This'), list(quotas)],
    nodes.length > 0 && [!alone && h('p', { class: 'quiet' }, both(quotas.length > 0, nodes.length > 1)), list(nodes)],
    e.wouldFit.ahead > 0 && h('p', null, `That is room for ${e.wouldFit.ahead} more, which come before it.`),
    e.wouldFit.remains && h('p', null, badge('bad', 'it would still wait'), ` ${words(e.wouldFit.remains)}`)));
}

// guaranteeCard is what its queues lack of what is guaranteed to them, of the kinds that it asks
// for, and why nothing is evicted for that.
function guaranteeCard(ctx, lack) {
  if (!lack) return null;
  return card('Guaranteed, and not used', h('ul', { class: 'bullets' }, lack.queues.map((q) => h('li', { key: q.queueName },
    queueLink(ctx, q.queueName), ' lacks ', h('span', { class: 'bad-text' }, format.amounts(q.lacking)), ' of what is guaranteed to it'))),
  lack.noEviction && h('p', null, `Nothing is evicted by guarantee: ${readable(lack.noEviction)}.`));
}

function both(also, several) { return `${also ? 'and ' : ''}${several ? 'one of these' : 'this'}`.replace(/^./, (c) => c.toUpperCase()); }

function list(items) { return h('ul', { class: 'bullets' }, items.map((text) => h('li', null, text))); }

function card(title, ...content) { return h('section', { class: 'card' }, h('h2', null, title), content); }

function nodesCard(ctx, list) {
  const total = list.reduce((sum, g) => sum + g.nodes, 0);
  if (total === 0) return card('Nodes', h('p', { class: 'quiet' }, 'There are none.'));
  const words = (g) => (g.nodes === 1 ? g.why : groups[g.why]?.many ?? g.why) + (g.text ? `: ${g.text}` : '');
  const fill = (g) => groups[g.why]?.fill ?? 'other';
  return h('section', { class: 'card' },
    h('div', { class: 'card-head' }, h('h2', null, `All ${format.plural(total, 'node')}, by the first reason that keeps it away`)),
    h('div', { class: 'group-bar' }, bar({
      parts: list.map((g) => ({ part: g.nodes / total, tone: `why-${fill(g)}` })),
      label: list.map((g) => `${g.nodes} ${words(g)}`).join(', '),
    })),
    table({
      label: 'Nodes by reason', rows: list, key: (g) => `${g.why} ${g.text ?? ''}`,
      columns: [
        { head: 'Nodes', num: true, cell: (g) => format.count(g.nodes) },
        { head: 'Why', cell: (g) => [h('span', { class: ['swatch', `fill-why-${fill(g)}`] }), ' ', words(g)] },
        { head: 'Nearest', cell: (g) => h('span', { title: (g.first ?? []).join(', ') }, nodeLink(ctx, g.nearest)) },
        list.some((g) => g.lacking) && { head: 'Lacks there', cell: (g) => (g.lacking ? h('span', { class: 'bad-text' }, format.amounts(g.lacking)) : '–') },
        list.some((g) => g.for) && { head: 'For', class: 'when-wide', cell: (g) => g.for ?? '–' },
      ].filter(Boolean),
    }));
}

// quotaCard is the queues from the leaf to the root, each with a bar for each kind
// that is asked for and limited there.
function quotaCard(ctx, levels, asked) {
  return h('section', { class: 'card' },
    h('div', { class: 'card-head' }, h('h2', null, 'Quota, from its queue to the root'),
      levels.some((q) => q.lacking) ? badge('bad', 'keeps it away') : badge('good', 'leaves room')),
    h('ol', { class: 'chain' }, levels.map((q) => h('li', { key: q.queueName, class: q.lacking && 'lacks' },
      h('div', { class: 'chain-head' }, queueLink(ctx, q.queueName), q.lacking && badge('bad', `lacks ${format.amounts(q.lacking)}`),
        limits(q, asked).length === 0 && h('span', { class: 'quiet' }, 'no limit on what it asks for')),
      quotaBars(q, asked)))),
    levels.some((q) => limits(q, asked).length > 0) && h('ul', { class: 'legend' }, [['own', 'used'], ['nominated', 'for nominated asks'], ['ask', 'this ask']].map(([tone, text]) => h('li', null, h('span', { class: ['swatch', `fill-${tone}`] }), text)),
      h('li', null, h('span', { class: 'max-mark' }), 'max')));
}

// limits are the kinds that are asked for and limited in a queue.
function limits(q, asked) { return format.kinds(q.max).filter((kind) => asked[kind] > 0); }

function quotaBars(q, asked) {
  return limits(q, asked).map((kind) => {
    const max = q.max[kind], used = q.used?.[kind] ?? 0, nominated = q.nominated?.[kind] ?? 0;
    const whole = Math.max(max, used + nominated + asked[kind]);
    const words = `${format.amount(kind, used)} of ${format.amount(kind, max)}`;
    return h('div', { class: 'chain-row', key: kind },
      h('span', { class: 'chain-kind' }, format.kindName(kind)),
      bar({
        parts: [{ part: used / whole, tone: 'own' }, { part: nominated / whole, tone: 'nominated' }, { part: asked[kind] / whole, tone: 'ask' }],
        marks: [{ part: max / whole, kind: 'max' }],
        label: `${kind}: ${words} used, ${format.amount(kind, nominated)} for nominated asks, ${format.amount(kind, asked[kind])} asked for`,
      }),
      h('span', { class: 'chain-words' }, words));
  });
}

function orderCard(ctx, e, told) {
  const attempts = (told.room ?? []).filter((line) => !line.startsWith('is being made'));
  return card('Its place, and room that others could make', pairs(
    ['In the order', e.before ? `${format.plural(e.before, 'ask')} of its application ${e.before === 1 ? 'comes' : 'come'} first` : 'First of its application'],
    ...forecastPairs(e.forecast),
    ['Nominated', e.nominatedNode && nodeLink(ctx, e.nominatedNode)],
    ...attempts.map((text) => ['Looked for room', capital(readable(text))])));
}
