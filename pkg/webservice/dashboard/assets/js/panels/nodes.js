// The map of nodes: each is a cell with its use, and its details are one click away. Or the domains that they are in.
//
//   #/nodes, #/nodes/NODE   the map; ?text=, state=, kind=, sort=, group=, zoom=
//   #/nodes?view=domains    domains, such as racks; &text=, intact=
import { h, render, state } from '../dom.js';
import * as format from '../format.js';
import { createFilters } from '../parts/filters.js';
import { domainList, nodeTabs } from '../parts/domainlist.js';
import { fewKinds, kindChooser } from '../parts/kindchoice.js';
import { noneLike } from '../parts/links.js';
import { nodeDetails } from '../parts/nodedetails.js';
import { entriesOf, grouped, groupingOf, groupOptions, listed, orders, picked, states } from '../parts/nodelist.js';
import { nodeLegend } from '../parts/nodelegend.js';
import { createNodeMap } from '../parts/nodemap.js';
import { levels } from '../parts/nodecell.js';
import { createViewer } from '../parts/viewer.js';

const cardsMax = 4; // kinds in a card
const rests = 200; // milliseconds that the cursor stays, until the details follow it
const attributesLast = 60000; // milliseconds: they seldom change, and are long

export default {
  id: 'nodes',
  title: 'Nodes',
  mount(root, ctx) {
    let view = '', is = null;
    const choose = () => {
      const wanted = ctx.route().query.get('view') === 'domains' ? 'domains' : 'map';
      if (wanted === view) return false;
      is?.unmount();
      root.replaceChildren();
      view = wanted;
      is = view === 'map' ? nodeMap(root, ctx) : createViewer(root, ctx, () => ({ key: view, make: () => domainList(ctx) }));
      return true;
    };
    choose();
    return {
      refresh: (signal) => is.refresh(signal),
      route() { if (choose()) ctx.refresh(); else is.route(); },
      unmount: () => is.unmount(),
    };
  },
};

function nodeMap(root, ctx) {
  let nodes = null, entries = [], measured = '', kinds = [], shown = null, resting = 0;
  let attributes = { at: -Infinity, of: new Map(), options: groupOptions(new Map()) };
  let detail = { id: '', whole: null, asks: null, pages: { own: 0, foreign: 0 } };
  const chosen = () => ctx.route().parts[0] ?? '';
  const filters = createFilters(ctx, 'nodes', () => ctx.route().parts.slice(0, 1));
  const map = createNodeMap({ onpick: pick, onmove: follow, onzoom: zoom });
  const toolbar = h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Filter' }), none = h('div'), aside = h('div', { class: 'aside' });
  const legend = nodeLegend();
  const main = h('div', { class: 'card nodes' }, map.el, none, legend.el);
  const split = h('div', { class: 'split' }, main, aside);
  root.addEventListener('keydown', onescape);
  render(root, state('loading', 'Reading the nodes', 'One moment.'));

  async function refresh(signal) {
    const id = chosen();
    const where = (...parts) => ctx.api.path('partition', ctx.partition(), ...parts);
    const [{ data }] = await Promise.all([ctx.api.get(where('nodes'), { params: { fields: listed }, signal }), readAttributes(signal)]);
    if (data !== nodes) { nodes = data; measured = ''; }
    if (id !== '' && nodes.some((n) => n.nodeID === id)) {
      const [{ data: whole }, { data: asks }] = await Promise.all([
        ctx.api.get(where('node', id), { signal }),
        ctx.api.get(where('asks'), { params: { node: id, limit: 50, fields: 'allocationKey,applicationId,resource,why' }, signal })]);
      if (id === chosen()) detail = { ...detailOf(id), whole, asks };
    }
    if (!split.isConnected) root.replaceChildren(toolbar, split);
    paint();
  }

  function detailOf(id) { return detail.id === id ? detail : { id, whole: null, asks: null, pages: { own: 0, foreign: 0 } }; }

  async function readAttributes(signal) {
    if (performance.now() - attributes.at < attributesLast) return;
    const { data } = await ctx.api.get(ctx.api.path('partition', ctx.partition(), 'nodes'), { params: { fields: 'nodeID,attributes' }, signal });
    const of = new Map(data.map((n) => [n.nodeID, n.attributes ?? {}]));
    attributes = { at: performance.now(), of, options: groupOptions(of) };
    measured = '';
  }

  // setting is what the address says about the map.
  function setting() {
    const { query } = ctx.route();
    const of = (name) => query.get(name) ?? '';
    const level = Number.parseInt(of('zoom'), 10);
    return { text: of('text'), state: of('state'), kind: of('kind'), order: of('sort'), by: of('group'), level: level >= 0 && level < levels.length ? level : null };
  }

  function paint() {
    const want = setting();
    if (measured !== `m ${want.kind}`) {
      entries = entriesOf(nodes, want.kind, attributes.of);
      kinds = format.kinds(...nodes.slice(0, 500).map((n) => n.capacity));
      measured = `m ${want.kind}`;
    }
    const some = picked(entries, want.text, want.state);
    render(toolbar, tools(want, some.length));
    render(none, some.length === 0 && nothing());
    map.el.hidden = some.length === 0;
    legend.el.hidden = some.length === 0;
    const by = groupingOf(want.by, entries);
    map.update({ groups: grouped(some, want.order, by), byName: by === 'name', kinds: fewKinds(kinds, cardsMax), kind: want.kind, level: want.level, chosen: chosen() });
    legend.update(fewKinds(kinds, cardsMax), want.kind, map.level());
    details();
  }

  function nothing() {
    if (entries.length === 0) return state('empty', 'There is no node yet', 'The resource manager brings them when it registers.');
    return noneLike('No node is like that', ctx.link('nodes'));
  }

  function tools(want, n) {
    const press = (label, text, by) => h('button', { type: 'button', 'aria-label': label, title: label, onclick: () => zoom(by) }, text);
    return [h('h1', null, 'Nodes'), nodeTabs(ctx, 'map'), h('span', { class: 'quiet tabular' }, n === entries.length ? format.plural(n, 'node') : `${format.count(n)} of ${format.plural(entries.length, 'node')}`),
      filters.fields(
        { name: 'text', kind: 'search', label: 'Name or attribute=value' },
        { name: 'state', kind: 'select', label: 'State', options: [['', 'Any state'], ...Object.entries(states).map(([name, [text]]) => [name, text])] },
        { name: 'kind', kind: 'select', label: 'What is shown', options: [['', 'What is used most'], ...kinds.map((kind) => [kind, `Use of ${format.kindName(kind)}`])] },
        { name: 'sort', kind: 'select', label: 'Order', options: Object.entries(orders) },
        { name: 'group', kind: 'select', label: 'Groups', options: attributes.options }),
      kindChooser(kinds, paint),
      h('span', { class: 'segments', role: 'group', 'aria-label': 'Size of cells' }, press('Smaller cells', '−', -1),
        h('button', { type: 'button', 'aria-pressed': want.level === null ? 'true' : 'false', title: 'As large as fits', onclick: () => zoom(0) }, 'Fit'), press('Larger cells', '+', 1))];
  }

  function zoom(by) {
    const next = Math.max(0, Math.min(levels.length - 1, map.level() + by));
    filters.change({ zoom: by === 0 ? '' : String(next) });
  }

  const narrow = () => !matchMedia('(min-width: 1000px)').matches;

  function details() {
    const id = chosen(), entry = entries.find((e) => e.id === id);
    split.classList.toggle('has-details', id !== '');
    aside.hidden = id === '';
    const before = shown;
    shown = `${id} ${entry ? 1 : 0}`;
    if (id === '') { render(aside); return; }
    detail = detailOf(id);
    render(aside, entry ? nodeDetails(ctx, { ...detail, node: entry.node, attributes: entry.attributes, onclose: close, turn })
      : h('section', { class: 'details' }, state('empty', 'There is no such node', `“${id}” has left, or never was.`, h('button', { type: 'button', onclick: close }, 'Close'))));
    if (before === shown || !entry) return;
    map.reveal(id);
    aside.firstChild.scrollTop = 0;
    if (narrow() && before !== null) aside.scrollIntoView({ block: 'start' });
  }

  function turn(list, offset) { detail.pages[list] = offset; details(); }

  function pick(id) { ctx.go(ctx.link('nodes', [id], ctx.route().query), chosen() !== ''); }

  // follow has the details follow the cursor, where they are beside the map.
  function follow(id) {
    clearTimeout(resting);
    if (chosen() !== '' && !narrow()) resting = setTimeout(() => { if (chosen() !== '') pick(id); }, rests);
  }

  function close() { clearTimeout(resting); ctx.go(ctx.link('nodes', [], ctx.route().query)); map.focus(); }

  function onescape(event) {
    if (event.key !== 'Escape' || event.defaultPrevented || chosen() === '' || event.target.closest('input,select,textarea')) return;
    event.preventDefault();
    close();
  }

  return {
    refresh,
    route() { if (nodes) { paint(); ctx.refresh(); } },
    unmount() { clearTimeout(resting); filters.stop(); map.unmount(); legend.unmount(); root.removeEventListener('keydown', onescape); },
  };
}
