// All that is known of one node.

import { badge, bar, h, pager, pairs, state, table } from '../dom.js';
import * as format from '../format.js';
import { applicationLink, askLink } from './links.js';
import { measure } from './nodelist.js';
import { pane, section } from './pane.js';
import { fewAmounts } from './kindchoice.js';
import { capital } from './words.js';

const pageSize = 20;

// badges are the states of a node, with the shapes that the map has for them.
export function badges(node) {
  return [node.schedulable ? badge('good', 'schedulable') : badge('bad', 'drained'), node.evictions?.length && badge('warn', 'evicting'),
    node.isReserved && badge('info', 'reserved'), node.nominations?.length && badge('info', 'room is being made')].filter(Boolean);
}

// nodeDetails makes the pane. Node is what the map knows, whole what REST says of it and
// asks those for which it is kept, both null until they are read; pages are the places
// in its two lists, turn(list, offset) turns them.
export function nodeDetails(ctx, { node, attributes, whole, asks, pages, turn, onclose }) {
  return pane({ title: node.nodeID, note: badges(node), onclose },
    amounts(node, whole),
    kept(ctx, asks),
    whole ? evictions(ctx, whole, asks) : null,
    whole ? own(ctx, whole, pages.own, (offset) => turn('own', offset)) : state('loading', 'Reading its allocations', ''),
    whole && foreign(whole, pages.foreign, (offset) => turn('foreign', offset)),
    facts(attributes));
}

function amounts(node, whole) {
  const kinds = format.kinds(node.capacity, node.allocated, node.occupied, node.nominated);
  if (kinds.length === 0) return section('Amounts', h('p', { class: 'quiet' }, 'It has nothing.'));
  const evicted = format.plus(...(whole?.allocations ?? []).filter((a) => a.preempted).map((a) => a.resource));
  return section('Amounts', kinds.map((kind) => gauge(node, kind, evicted[kind] ?? 0)),
    h('ul', { class: 'legend' }, [['own', 'pods'], ['evicting', 'evicting'], ['daemon', 'daemonsets'], ['foreign', 'other schedulers'], ['nominated', 'nominated']]
      .map(([tone, words]) => h('li', null, h('span', { class: ['swatch', `fill-${tone}`] }), words))));
}

function gauge(node, kind, evicted) {
  const of = (field) => node[field]?.[kind] ?? 0;
  const say = (n) => format.amount(kind, n);
  const m = measure(node, kind), capacity = of('capacity');
  const scale = Math.max(1, m.use + m.nominated), going = Math.min(m.own, format.part(evicted, capacity));
  const facts = [['capacity', say(capacity)], ['allocated', say(of('allocated'))], ['daemonsets', of('daemonSets') > 0 && say(of('daemonSets'))],
    ['occupied by others', of('occupied') > 0 && say(of('occupied'))], ['nominated', of('nominated') > 0 && say(of('nominated'))], ['evicting', evicted > 0 && say(evicted)],
    ['available', say(capacity - of('allocated') - of('occupied'))]].filter(([, v]) => v);
  const parts = [['foreign', m.foreign], ['daemon', m.daemon], ['own', m.own - going], ['evicting', going], ['nominated', m.nominated]];
  return h('div', { class: 'gauge', key: kind },
    h('div', { class: 'gauge-head' }, h('strong', { title: kind }, format.kindName(kind)), h('span', { class: m.use > 1 ? 'bad-text' : 'quiet' }, m.has ? `${format.percent(m.use)} used` : 'it has none')),
    bar({ label: `${format.kindName(kind)}: ${facts.map(([name, v]) => `${name} ${v}`).join(', ')}`, parts: parts.map(([tone, part]) => ({ tone, part: part / scale })), marks: scale > 1 ? [{ part: 1 / scale, kind: 'max' }] : [] }),
    h('div', { class: 'facts' }, facts.map(([name, v]) => h('span', null, h('span', { class: 'quiet' }, `${name} `), v))));
}

// kept are the asks that get the node, or for which room is being made on it.
function kept(ctx, asks) {
  if (!asks?.length) return null;
  return section('Kept for', table({
    label: 'Asks for which it is kept', rows: asks, key: (a) => a.allocationKey, columns: [
      { head: 'Ask', cell: (a) => [askLink(ctx, a.applicationId, a.allocationKey), h('div', { class: 'quiet' }, capital(a.why ?? ''), ' · ', fewAmounts(a.resource))] },
    ],
  }));
}

function evictions(ctx, node, asks) {
  const list = node.evictions ?? [];
  if (list.length === 0) return null;
  const waits = new Map((asks ?? []).map((a) => [a.allocationKey, a.applicationId]));
  const home = new Map((node.allocations ?? []).map((a) => [a.allocationKey, a.applicationId]));
  return section('Evictions', table({
    label: 'Evictions', rows: list, key: (l) => l.allocationKey, columns: [
      { head: 'Allocation', cell: (l) => [askLink(ctx, home.get(l.allocationKey), l.allocationKey), l.overdue && [' ', badge('bad', 'overdue')]] },
      { head: 'By', cell: (l) => l.trigger },
      { head: 'For', cell: (l) => askLink(ctx, waits.get(l.for), l.for) },
      { head: 'Since', num: true, cell: (l) => format.age(l.since, ctx.now()) },
    ],
  }));
}

// podName is how people call a pod, if the resource manager says; its key is for machines.
function podName({ allocationKey, allocationTags }) {
  const of = (name) => allocationTags?.[`kubernetes.io/meta/${name}`];
  return of('podName') ? [of('namespace'), of('podName')].filter(Boolean).join('/') : allocationKey;
}

// daemon reports whether an allocation may be on this node only.
function daemon(allocation) { return Object.keys(allocation.allocationTags ?? {}).some((tag) => tag.endsWith('/requiredNode')); }

function own(ctx, node, offset, onpage) {
  const all = node.allocations ?? [];
  return section(`Allocations (${format.count(all.length)})`, table({
    label: 'Allocations', rows: all.slice(offset, offset + pageSize), key: (a) => a.allocationKey, empty: 'It has none of this scheduler', columns: [
      { head: 'Allocation', cell: (a) => [askLink(ctx, a.applicationId, a.allocationKey, podName(a)), a.preempted && [' ', badge('warn', 'evicting')], h('div', { class: 'quiet' }, daemon(a) && 'daemonset ', applicationLink(ctx, a.applicationId), ' · ', fewAmounts(a.resource))] },
      { head: 'Priority', num: true, cell: (a) => a.priority },
      { head: 'Age', num: true, cell: (a) => format.age(a.allocationTime, ctx.now()) },
    ],
  }), all.length > pageSize && pager({ offset, limit: pageSize, total: all.length, onpage, noun: 'allocations' }));
}

function foreign(node, offset, onpage) {
  const all = node.foreignAllocations ?? [];
  if (all.length === 0) return null;
  return section(`Of other schedulers (${format.count(all.length)})`, table({
    label: 'Allocations of other schedulers', rows: all.slice(offset, offset + pageSize), key: (a) => a.allocationKey, columns: [
      { head: 'Pod', cell: (a) => [h('span', { title: a.allocationKey }, podName(a)), h('span', { class: 'quiet' }, a.allocationTags?.foreign === 'static' ? ' static' : '', a.preemptable ? ' preemptable' : ''), h('div', { class: 'quiet' }, fewAmounts(a.resource))] },
      { head: 'Priority', num: true, cell: (a) => a.priority },
    ],
  }), all.length > pageSize && pager({ offset, limit: pageSize, total: all.length, onpage, noun: 'pods' }));
}

function facts(attributes) {
  const list = Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1));
  return list.length ? section('Attributes', pairs(...list)) : null;
}
