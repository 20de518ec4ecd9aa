// Groups of which so many members start together or none: what each does, and what it lacks.

import * as format from '../format.js';
import { badge, bar, h, pager, state, table } from '../dom.js';
import { listTabs } from './applist.js';
import { beginsWith, createFilters, offsetOf } from './filters.js';
import { noneLike } from './links.js';
import { capital } from './words.js';

const pageSize = 50;

const states = { waits: 'warn', runs: 'good', 'is below its minimum': 'bad' };

export function groupList(ctx) {
  const filters = createFilters(ctx, 'applications');
  let rows = [], total = 0;

  async function load(signal) {
    const { query } = ctx.route();
    const params = { group: beginsWith(query.get('text')), state: query.get('state'), sort: query.get('sort'), limit: pageSize, offset: offsetOf(query) };
    ({ data: rows, total } = await ctx.api.get(ctx.api.path('partition', ctx.partition(), 'groups'), { params, signal }));
  }

  function show() {
    const { query } = ctx.route();
    return [
      h('div', { class: 'toolbar' }, h('h1', null, 'Groups'), listTabs(ctx, 'groups'),
        h('span', { class: 'quiet' }, 'What starts together, or not at all')),
      h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Filter' }, filters.fields(
        { name: 'text', kind: 'search', label: 'Group begins with' },
        { name: 'state', kind: 'select', label: 'State', options: [['', 'Any state'], ...Object.keys(states).map((name) => [name, capital(name)])] })),
      rows.length === 0 && offsetOf(query) === 0 ? nothing(query) : h('div', { class: 'card' },
        table({ label: 'Groups', columns: columns(), rows, key: (g) => g.name, sort: { by: query.get('sort') ?? '', onsort: (by) => filters.change({ sort: by }) } }),
        pager({ offset: offsetOf(query), limit: pageSize, total, onpage: filters.page, noun: 'groups' })),
    ];
  }

  function nothing(query) {
    if (query.get('text') || query.get('state')) {
      return noneLike('No group is like that', ctx.link('applications', [], { view: 'groups' }));
    }
    return state('empty', 'There is no group', 'Pods that name a group, such as a PodGroup, appear here.');
  }

  function columns() {
    return [
      { head: 'Group', class: 'whole', sort: 'name', cell: (g) => g.name },
      { head: 'State', sort: 'state', cell: (g) => badge(states[g.state] ?? 'plain', g.state) },
      { head: 'Members', title: 'That run or are done, of those that must', class: 'limit-part', cell: members },
      { head: 'Wait', num: true, sort: 'waiting', down: true, cell: (g) => format.count(g.waiting) },
      { head: 'Below for', num: true, sort: 'belowSince', title: 'Since fewer members run or are done than must', cell: (g) => format.age(g.belowSince, ctx.now()) || '–' },
      { head: 'Priority', num: true, class: 'when-wide', title: 'Of all members; without one each has its own', cell: (g) => g.priority ?? '–' },
      { head: 'Why they wait', cell: (g) => capital(g.why ?? '') || '–' },
    ];
  }

  return { load, show, unmount: filters.stop };
}

function members(g) {
  if (g.bySubgroup) {
    return subgroups(g);
  }
  const there = g.running + g.done, beyond = there > g.least ? `, ${format.count(there - g.least)} more than must` : '';
  return share(there, g.least, `${format.count(g.running)} run, ${format.count(g.done)} are done, ${format.count(g.least)} must${beyond}`, '');
}

function subgroups(g) {
  const run = g.subgroups.filter((s) => s.least > 0 && s.has >= s.least && !s.name.includes('/'));
  const says = `${format.count(run.length)} subgroups run, ${format.count(g.least)} must: ${g.subgroups.map((s) => `${s.name} ${s.has} of ${s.least ?? 0}`).join(', ')}`;
  return share(run.length, g.least, says, ' subgroups');
}

// share shows how many are there of those that must be.
function share(there, least, says, noun) {
  return h('div', null, h('div', { class: 'limit-words' }, h('span', { title: says }, `${format.count(there)} `, h('span', { class: 'quiet' }, `of ${format.count(least)}${noun}`))),
    bar({ label: says, parts: [{ part: Math.min(1, there / Math.max(least, 1)), tone: 'own' }], marks: [] }));
}
