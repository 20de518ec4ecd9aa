// Domains of nodes, such as racks: which are intact, what is left in each, and which groups run there.

import * as format from '../format.js';
import { badge, bar, h, pager, state, table } from '../dom.js';
import { beginsWith, createFilters, offsetOf } from './filters.js';
import { fewAmounts, kindChooser } from './kindchoice.js';
import { noneLike, subtabs } from './links.js';

const pageSize = 100;
const groupsMax = 4; // that are named in a cell

// nodeTabs leads from the map of nodes to the domains and back.
export function nodeTabs(ctx, current) {
  return subtabs(ctx, 'nodes', 'Nodes or domains', current, [['map', 'Map', {}], ['domains', 'Domains', { view: 'domains' }]]);
}

export function domainList(ctx) {
  const filters = createFilters(ctx, 'nodes');
  let rows = [], total = 0;

  async function load(signal) {
    const { query } = ctx.route();
    const params = {
      domain: beginsWith(query.get('text')), intact: query.get('intact'), sort: query.get('sort'), limit: pageSize, offset: offsetOf(query),
    };
    ({ data: rows, total } = await ctx.api.get(ctx.api.path('partition', ctx.partition(), 'domains'), { params, signal }));
  }

  function show() {
    const { query } = ctx.route();
    return [
      h('div', { class: 'toolbar' }, h('h1', null, 'Domains'), nodeTabs(ctx, 'domains'),
        h('span', { class: 'quiet' }, 'A group may require that it runs in one of them')),
      h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Filter' }, filters.fields(
        { name: 'text', kind: 'search', label: 'Domain begins with' },
        { name: 'intact', kind: 'select', label: 'State', options: [['', 'Any state'], ['true', 'Intact'], ['false', 'In use']] }), kindChooser(format.known(), ctx.refresh)),
      rows.length === 0 && offsetOf(query) === 0 ? nothing(query) : h('div', { class: 'card' },
        table({ label: 'Domains', columns: columns(), rows, key: (d) => `${d.level} ${d.name}`, sort: { by: query.get('sort') ?? '', onsort: (by) => filters.change({ sort: by }) } }),
        pager({ offset: offsetOf(query), limit: pageSize, total, onpage: filters.page, noun: 'domains' })),
    ];
  }

  function nothing(query) {
    if (query.get('text') || query.get('intact')) {
      return noneLike('No domain is like that', ctx.link('nodes', [], { view: 'domains' }));
    }
    return state('empty', 'There is no domain', 'The configuration names no level of topology, or no node has a value of one.');
  }

  function columns() {
    return [
      { head: 'Domain', class: 'whole', sort: 'name', cell: (d) => domainCell(ctx, d) },
      { head: 'Level', class: 'when-wide', sort: 'level', cell: (d) => d.level },
      { head: 'Idle', sort: 'idle', down: true, title: 'Nodes on which nothing runs that could run elsewhere, of all', class: 'limit-part', cell: idleCell },
      { head: 'Left', cell: (d) => fewAmounts(d.available, 'nothing') },
      { head: 'Kept', class: 'when-wide', title: 'For asks that wait for room there', cell: (d) => fewAmounts(d.kept, '–') },
      { head: 'Runs', cell: (d) => groups(ctx, d.groups) },
      { head: 'Kept for', cell: (d) => groups(ctx, d.keptFor) },
    ];
  }

  return { load, show, unmount: filters.stop };
}

// domainCell is the name of a domain; its own value leads to the nodes that have it.
function domainCell(ctx, d) {
  const value = d.parent ? d.name.slice(d.parent.length + 1) : d.name;
  return h('a', { href: ctx.link('nodes', [], { text: `${d.level}=${value}` }), title: `Nodes with ${d.level}=${value}` },
    d.parent && h('span', { class: 'quiet' }, `${d.parent}/`), value);
}

function idleCell(d) {
  const out = d.nodes - d.schedulable, says = `${format.plural(d.idle, 'idle node')} of ${format.count(d.nodes)}`;
  return h('div', null, h('div', { class: 'limit-words' },
    d.intact && badge('good', 'intact', 'All nodes are idle and take asks'), out > 0 && badge('warn', `${format.count(out)} closed`, 'Nodes that take no asks'),
    h('span', null, `${format.count(d.idle)} `, h('span', { class: 'quiet' }, `of ${format.count(d.nodes)}`))),
  bar({ label: says, parts: [{ part: d.idle / Math.max(d.nodes, 1), tone: 'own' }], marks: [] }));
}

// groups are names, which lead to the groups.
function groups(ctx, names = []) {
  if (names.length === 0) return '–';
  const link = (name, i) => [i > 0 && ', ', h('a', { href: ctx.link('applications', [], { view: 'groups', text: name }) }, name)];
  return h('span', { title: names.join(', ') }, names.slice(0, groupsMax).map(link), names.length > groupsMax && h('span', { class: 'quiet' }, ` and ${format.count(names.length - groupsMax)} more`));
}
