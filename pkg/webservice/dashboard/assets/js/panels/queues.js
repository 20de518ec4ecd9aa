// The tree of queues, with one of them in detail, and how they stand to their guarantees.
//
//   #/queues/root.team        the tree; the queue is in detail
//   #/queues?view=guarantees  the ranking; &guaranteeState=, kind=, sort=, text=
import { h, render, state, virtualList } from '../dom.js';
import * as format from '../format.js';
import { subtabs } from '../parts/links.js';
import { queueDetails } from '../parts/queuedetails.js';
import { createFilters } from '../parts/filters.js';
import { fewAmounts, fewKinds, kindChooser } from '../parts/kindchoice.js';
import { createHistory } from '../parts/history.js';
import { queueRanking } from '../parts/queueranking.js';
import { queueRow } from '../parts/queuerow.js';
import { walk } from '../parts/shares.js';

const rowHeight = 46;
const openMax = 80; // queues up to which the whole tree is open at first

// Which queues are open, by partition, as they were left.
const opened = new Map();

export default {
  id: 'queues',
  title: 'Queues',
  mount(root, ctx) {
    let tree = null, entries = [], rows = [], kinds = [], cursor = '', text = '', shown = null;
    const toolbar = h('div', { class: 'toolbar' }), main = h('div', { class: 'card queues' }), aside = h('div', { class: 'aside' });
    const empty = h('div');
    const head = h('div', { class: 'queue queue-head', 'aria-hidden': 'true' });
    const list = virtualList({ height: rowHeight, label: 'Queues', role: 'tree', class: 'queue-tree' });
    const treeEl = list.el.firstChild;
    treeEl.tabIndex = 0;
    treeEl.addEventListener('keydown', onkey);
    treeEl.addEventListener('focus', () => { if (!cursor && rows.length) moveTo(rows[0]); });
    root.addEventListener('keydown', onescape);
    const ranking = h('div', { class: 'card' });
    const filters = createFilters(ctx, 'queues', () => ctx.route().parts.slice(0, 1));
    const hours = createHistory(ctx);
    const split = h('div', { class: 'split' }, h('div', null, main, ranking), aside);
    render(root, state('loading', 'Reading the queues', 'One moment.'));

    const open = () => opened.get(ctx.partition());
    const chosen = () => ctx.route().parts[0] ?? '';

    async function refresh(signal) {
      const { data } = await ctx.api.get(ctx.api.path('partition', ctx.partition(), 'queues'), { signal });
      if (data !== tree) take(data);
      if (chosen() !== '') await hours.read(chosen(), signal);
      if (!split.isConnected) root.replaceChildren(toolbar, split);
      paint();
    }

    // take makes entries of the tree: parents first, each with the index of its parent.
    function take(data) {
      tree = data;
      entries = [];
      const last = [];
      walk(data, (queue, depth, fair) => {
        const parent = last[depth - 1];
        last[depth] = { queue, depth, fair, parent, at: parent ? parent.children.length : 0, children: [] };
        parent?.children.push(last[depth]);
        entries.push(last[depth]);
      });
      if (!open()) {
        const all = entries.length <= openMax;
        opened.set(ctx.partition(), new Set(entries.filter((e) => all || e.depth < 1).map((e) => e.queue.queuename)));
      }
    }

    // visible are the entries that are seen: those whose parents are open, or those that
    // are searched for with all above them.
    function visible() {
      if (text === '') {
        return entries.filter((e) => { for (let up = e.parent; up; up = up.parent) if (!open().has(up.queue.queuename)) return false; return true; });
      }
      const keep = new Set();
      for (const e of entries) if (e.queue.queuename.includes(text)) for (let up = e; up; up = up.parent) keep.add(up);
      return entries.filter((e) => keep.has(e));
    }

    function paint() {
      main.hidden = byGuarantee();
      ranking.hidden = !main.hidden;
      if (byGuarantee()) {
        render(toolbar, tabs());
        render(ranking, queueRanking(ctx, entries.map((e) => e.queue), filters));
        details();
        return;
      }
      kinds = fewKinds(allKinds());
      rows = visible();
      if (!rows.some((e) => e.queue.queuename === cursor)) cursor = rows.some((e) => e.queue.queuename === chosen()) ? chosen() : '';
      render(toolbar, tools());
      main.style.setProperty('--kinds', kinds.length);
      render(head, h('div', null, 'Queue'), kinds.map((kind) => h('div', { title: kind }, format.kindName(kind))), h('div', { class: 'num' }, 'Running'), h('div', { class: 'num' }, 'Pending'));
      if (!list.el.isConnected) main.append(head, list.el, empty, legend());
      list.el.hidden = rows.length === 0;
      render(empty, rows.length === 0 && state('empty', 'No queue has this in its name', 'Press Esc in the search to leave it.'));
      list.el.style.setProperty('height', `${Math.min(rows.length, 200) * rowHeight + 2}px`);
      list.update({ count: rows.length, row });
      treeEl.setAttribute('aria-activedescendant', cursor ? idOf(cursor) : '');
      details();
    }

    function row(i) {
      const e = rows[i], name = e.queue.queuename;
      const isOpen = text !== '' || open().has(name);
      return queueRow({
        queue: e.queue, fair: e.fair, kinds, id: idOf(name),
        place: { depth: e.depth, size: e.parent ? e.parent.children.length : 1, at: e.at, open: isOpen, cursor: name === cursor, chosen: name === chosen() },
        ontoggle: () => toggle(name, !open().has(name)), onpick: () => { cursor = name; pick(name); },
      });
    }

    const byGuarantee = () => ctx.route().query.get('view') === 'guarantees';
    const allKinds = () => format.kinds(tree.maxResource, tree.allocatedResource, tree.pendingResource);

    function tabs() {
      return [h('h1', null, 'Queues'), subtabs(ctx, 'queues', 'Views of queues', byGuarantee() ? 'guarantees' : 'tree',
        [['tree', 'Tree', {}], ['guarantees', 'By guarantee', { view: 'guarantees' }]])];
    }

    function tools() {
      const waits = format.kinds(tree.pendingResource).length > 0;
      return [tabs(), h('span', { class: 'quiet tabular' }, format.plural(entries.length, 'queue')),
        waits && h('span', { class: 'quiet' }, 'pending ', fewAmounts(tree.pendingResource)), h('span', { class: 'grow' }),
        kindChooser(allKinds(), paint),
        h('input', { type: 'search', key: 'search', placeholder: 'Find a queue', 'aria-label': 'Find a queue', value: text, oninput: (event) => { text = event.target.value.trim().toLowerCase(); paint(); } }),
        h('button', { type: 'button', onclick: () => openAll(true) }, 'Open all'), h('button', { type: 'button', onclick: () => openAll(false) }, 'Close all')];
    }

    function legend() {
      const item = (mark, words) => h('li', null, mark, words);
      const swatch = (tone) => h('span', { class: ['swatch', `fill-${tone}`] });
      const tick = (kind) => h('span', { class: 'meter tick' }, h('span', { class: ['meter-mark', `mark-${kind}`] }));
      return h('ul', { class: 'legend', 'aria-label': 'Legend' }, item(swatch('own'), 'used'), item(swatch('over'), 'beyond the guarantee'), item(swatch('lacking'), 'lacks of the guarantee'), item(swatch('evicting'), 'evicting'), item(swatch('nominated'), 'nominated'),
        item(tick('guaranteed'), 'guaranteed'), item(tick('max'), 'max'), item(tick('fair'), 'no max: what is above'));
    }

    function details() {
      const entry = entries.find((e) => e.queue.queuename === chosen());
      const key = `${chosen()} ${entry ? 1 : 0}`;
      split.classList.toggle('has-details', chosen() !== '');
      aside.hidden = chosen() === '';
      if (chosen() === '') { render(aside); shown = key; return; }
      const way = [];
      for (let up = entry; up; up = up.parent) way.unshift(up);
      render(aside, entry ? queueDetails(ctx, way, hours.charts(chosen()), close) : h('section', { class: 'details' }, state('empty', 'There is no such queue', `${chosen()} is not configured, or was removed.`, h('button', { type: 'button', onclick: close }, 'Close'))));
      if (shown !== key && shown !== null && entry) {
        aside.firstChild.scrollTop = 0;
        if (narrow()) aside.scrollIntoView({ block: 'start' });
      }
      shown = key;
    }

    const narrow = () => !matchMedia('(min-width: 1000px)').matches;
    const idOf = (name) => `queue-${name.replace(/[^\w-]/g, (c) => `_${c.codePointAt(0)}_`)}`;

    function toggle(name, to) { if (to) open().add(name); else open().delete(name); paint(); }

    function openAll(to) {
      opened.set(ctx.partition(), new Set(entries.filter((e) => to || e.depth < 1).map((e) => e.queue.queuename)));
      paint();
      ctx.announce(to ? 'All queues are open' : 'Queues are closed');
    }

    function pick(name) { ctx.go(ctx.link('queues', [name], ctx.route().query), chosen() !== ''); }

    function close() { ctx.go(ctx.link('queues', [], ctx.route().query)); if (!byGuarantee()) treeEl.focus({ preventScroll: true }); }

    function moveTo(entry) {
      if (!entry) return;
      cursor = entry.queue.queuename;
      if (chosen() !== '' && !narrow()) pick(cursor); else paint();
      list.reveal(rows.indexOf(entry));
      document.getElementById(idOf(cursor))?.scrollIntoView({ block: 'nearest' });
    }

    function onkey(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const i = rows.findIndex((e) => e.queue.queuename === cursor), e = rows[i];
      const isOpen = e && (text !== '' || open().has(e.queue.queuename));
      const moves = {
        ArrowDown: () => moveTo(rows[Math.min(i + 1, rows.length - 1)]),
        ArrowUp: () => moveTo(rows[Math.max(i - 1, 0)]),
        Home: () => moveTo(rows[0]),
        End: () => moveTo(rows.at(-1)),
        PageDown: () => moveTo(rows[Math.min(i + 10, rows.length - 1)]),
        PageUp: () => moveTo(rows[Math.max(i - 10, 0)]),
        ArrowRight: () => { if (e?.children.length && !isOpen) toggle(cursor, true); else if (e?.children.length) moveTo(rows[i + 1]); },
        ArrowLeft: () => { if (e?.children.length && isOpen && text === '') toggle(cursor, false); else moveTo(e?.parent); },
        Enter: () => { if (e) pick(cursor); },
        ' ': () => { if (e) pick(cursor); },
        '*': () => openAll(true),
      };
      if (!moves[event.key]) return;
      event.preventDefault();
      moves[event.key]();
    }

    function onescape(event) {
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      if (event.target.type === 'search' && !byGuarantee()) {
        if (text !== '') { text = ''; event.target.value = ''; paint(); }
      } else if (chosen() !== '') { event.preventDefault(); close(); }
    }

    return {
      refresh,
      route() {
        if (!tree) return;
        if (chosen()) cursor = chosen();
        reopen();
        paint();
        if (chosen()) hours.read(chosen()).then(() => { if (root.isConnected) paint(); }, () => {}); // the next refresh tells what is wrong
      },
      unmount() { filters.stop(); root.removeEventListener('keydown', onescape); },
    };

    // reopen opens what is above the chosen queue, so that a link to it shows it.
    function reopen() {
      const entry = entries.find((e) => e.queue.queuename === chosen());
      for (let up = entry?.parent; up; up = up.parent) open().add(up.queue.queuename);
    }
  },
};
