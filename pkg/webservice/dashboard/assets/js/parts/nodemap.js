// The map of nodes: cells on a canvas, of which those in sight are painted. The cell
// under the cursor is an option of a list box, for readers of screens.

import { clear, h } from '../dom.js';
import * as format from '../format.js';
import { boxHeight, grown, levelsFor, paintCell, readColours } from './nodecell.js';
import { describe, measure, use } from './nodelist.js';

const headHeight = 30; // of a group
const edge = 4; // around all cells, for the outlines

// createNodeMap makes a map. onpick(id) is called for a node that is chosen, onmove(id)
// when a key has moved the cursor, onzoom(by) when cells should be larger or smaller.
export function createNodeMap({ onpick, onmove, onzoom }) {
  let groups = [], flat = [], kinds = [], kind = '', wanted = null, levels = levelsFor(false), level = levels[0], chosen = '', cursor = '', hovered = '';
  let width = 0, total = 0, columns = 1, queued = false, moved = false, colours = null, painted = '';
  const canvas = h('canvas', { 'aria-hidden': 'true' });
  const option = h('div', { class: 'unseen', role: 'option', id: 'node-at-cursor', 'aria-selected': 'false', hidden: true });
  const space = h('div', { class: 'nodemap-space' }, canvas);
  const scroller = h('div', { class: 'nodemap-scroll', role: 'listbox', tabindex: 0, 'aria-label': 'Map of nodes', 'aria-describedby': 'nodemap-keys' }, space, option);
  const tip = h('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });
  const keys = h('p', { class: 'unseen', id: 'nodemap-keys' }, 'Arrow keys go from node to node, Enter shows its details, plus and minus change the size of cells.');
  const el = h('div', { class: 'nodemap', data: { keep: '' } }, scroller, tip, keys);

  // place gives groups their height at a width, and says how high all are together.
  function place(at) {
    const across = Math.max(1, Math.floor((width - 2 * edge + at.gap) / (at.width + at.gap)));
    const high = boxHeight(at, kinds) + at.label + at.gap;
    let y = edge, first = 0;
    const placed = groups.map((group) => {
      const top = y + (group.label ? headHeight : 0);
      const one = { ...group, y, top, first };
      y = top + Math.ceil(group.entries.length / across) * high + (group.label ? 8 : 0);
      first += group.entries.length;
      return one;
    });
    return { placed, across, height: y - at.gap + edge };
  }

  // fitting is the largest level with which all cells are in sight, or nearly.
  function fitting() {
    const room = Math.max(300, window.innerHeight - 270);
    const least = window.innerWidth < 700 ? 1 : 0; // fingers do not hit dots
    const fits = levels.findLast((one, i) => i <= least || place(one).height <= room);
    let best = fits;
    for (let by = 1, next; (next = grown(fits, by)) && place(next).height <= room; by++) best = next;
    return best;
  }

  function layout() {
    width = scroller.clientWidth;
    moved = false;
    if (width === 0) return;
    level = wanted === null ? fitting() : levels[wanted];
    const { placed, across, height } = place(level);
    [groups, columns, total] = [placed, across, height];
    space.style.setProperty('height', `${total}px`);
    later();
  }

  // relaid has the cells placed anew before they are painted: an observer of sizes may
  // not change them itself.
  function relaid() { moved = true; later(); }

  function later() { if (!queued) { queued = true; requestAnimationFrame(paint); } }

  function paint() {
    if (moved) layout();
    queued = false;
    if (!el.isConnected || width === 0) return;
    colours ??= readColours(el);
    const height = scroller.clientHeight, ratio = window.devicePixelRatio || 1;
    const size = `${width} ${height} ${ratio}`;
    if (painted !== size) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.setProperty('width', `${width}px`);
      canvas.style.setProperty('height', `${height}px`);
      painted = size;
    }
    const pen = canvas.getContext('2d');
    pen.setTransform(ratio, 0, 0, ratio, 0, -scroller.scrollTop * ratio);
    pen.clearRect(0, scroller.scrollTop, width, height);
    const top = scroller.scrollTop, bottom = top + height, high = rowHeight();
    for (const group of groups) {
      if (group.label && group.y < bottom && group.top > top) paintHead(pen, group);
      const from = Math.max(0, Math.floor((top - group.top) / high)) * columns;
      const to = Math.min(group.entries.length, Math.ceil((bottom - group.top) / high) * columns);
      for (let j = from; j < to; j++) paintCell(pen, colours, { level, kinds }, group.entries[j], ...cellAt(group, j), markOf(group.entries[j].id));
    }
    for (const id of [cursor, chosen]) if (markOf(id)) paintAgain(pen, id); // nothing lies over their outlines
  }

  function paintAgain(pen, id) {
    const at = placeOf(id);
    if (at) paintCell(pen, colours, { level, kinds }, at.group.entries[at.j], ...cellAt(at.group, at.j), markOf(id));
  }

  function paintHead(pen, group) {
    pen.font = `600 12px ${colours.font}`;
    pen.fillStyle = colours.text;
    pen.fillText(group.label, edge, group.y + 19);
    const after = edge + pen.measureText(group.label).width + 10;
    pen.font = `12px ${colours.font}`;
    pen.fillStyle = colours.quiet;
    const shown = (kind ? [kind] : kinds.slice(0, 3)).map((k) => [k, use(group.entries, k)]).filter(([, u]) => u.all > 0).map(([k, u]) => `${format.kindName(k)} ${format.percent(u.part)}`);
    const words = [format.plural(group.entries.length, 'node'), ...shown];
    while (words.length > 1 && after + pen.measureText(words.join(' · ')).width > width) words.pop();
    pen.fillText(words.join(' · '), after, group.y + 19);
  }

  const rowHeight = () => boxHeight(level, kinds) + level.label + level.gap;
  const cellAt = (group, j) => [edge + (j % columns) * (level.width + level.gap), group.top + Math.floor(j / columns) * rowHeight()];
  const focused = () => document.activeElement === scroller;
  const markOf = (id) => (id === '' ? '' : id === chosen ? 'chosen' : id === hovered || id === cursor && focused() ? 'cursor' : '');

  function placeOf(id) {
    const i = flat.findIndex((e) => e.id === id);
    if (i < 0) return null;
    const group = groups.find((g) => i < g.first + g.entries.length);
    return group ? { i, group, j: i - group.first } : null; // without a width the nodes have no places yet
  }

  // entryAt is the entry at a place of the map; in the gaps the nearest before it.
  function entryAt(x, y) {
    const group = groups.find((g) => y >= g.top - 2 && y < g.top + Math.ceil(g.entries.length / columns) * rowHeight());
    const column = Math.floor((x - edge) / (level.width + level.gap));
    if (!group || column < 0 || column >= columns) return null;
    return group.entries[Math.max(0, Math.floor((y - group.top) / rowHeight())) * columns + column] ?? null;
  }

  function eventEntry(event) {
    const box = canvas.getBoundingClientRect();
    return entryAt(event.clientX - box.left, event.clientY - box.top + scroller.scrollTop);
  }

  function showTip(id) {
    const at = id === '' ? null : placeOf(id);
    tip.hidden = !at;
    if (!at) return;
    const entry = at.group.entries[at.j];
    const [, ...rest] = describe(entry).slice(entry.id.length).split('; ');
    const others = kinds.filter((k) => k !== entry.m.kind && entry.node.capacity?.[k] > 0).map((k) => `${format.kindName(k)} ${format.percent(measure(entry.node, k).use)}`);
    clear(tip);
    tip.append(h('strong', null, entry.id), ...rest.map((text) => h('div', null, text)), h('div', { class: 'quiet' }, others.join(' · ')));
    const [x, y] = cellAt(at.group, at.j);
    const below = y - scroller.scrollTop + boxHeight(level, kinds) + level.label + 6;
    tip.style.setProperty('left', `${Math.max(0, Math.min(x, el.clientWidth - tip.offsetWidth - 4))}px`);
    tip.style.setProperty('top', `${below + tip.offsetHeight > scroller.clientHeight + 60 && y - scroller.scrollTop > tip.offsetHeight ? y - scroller.scrollTop - tip.offsetHeight - 6 : below}px`);
  }

  function moveTo(i) {
    const next = flat[Math.max(0, Math.min(flat.length - 1, i))];
    if (!next) return;
    cursor = next.id;
    say();
    reveal(cursor);
    showTip(cursor);
    later();
    onmove(cursor);
  }

  // say tells readers of screens which node the cursor is on.
  function say() {
    const at = cursor === '' ? null : placeOf(cursor);
    option.hidden = !at;
    if (!at) { scroller.removeAttribute('aria-activedescendant'); return; }
    option.textContent = describe(flat[at.i]) + (at.group.label ? `; ${at.group.label}` : '');
    option.setAttribute('aria-posinset', at.i + 1);
    option.setAttribute('aria-setsize', flat.length);
    option.setAttribute('aria-selected', String(cursor === chosen));
    scroller.setAttribute('aria-activedescendant', option.id);
  }

  function reveal(id) {
    const at = placeOf(id);
    if (!at) return;
    const [, y] = cellAt(at.group, at.j), high = rowHeight();
    if (y - headHeight < scroller.scrollTop) scroller.scrollTop = y - headHeight;
    else if (y + high > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = y + high - scroller.clientHeight;
  }

  // vertical goes up or down by a row, into the group above or below where one ends.
  function vertical(by) {
    const at = placeOf(cursor);
    if (!at) { moveTo(0); return; }
    const column = at.j % columns, next = at.j + by * columns;
    const g = groups.indexOf(at.group), size = at.group.entries.length;
    if (next >= 0 && (next < size || Math.floor(at.j / columns) < Math.ceil(size / columns) - 1)) { moveTo(at.group.first + Math.min(next, size - 1)); return; }
    const other = groups[g + by];
    if (!other) return;
    const last = other.entries.length - 1;
    moveTo(other.first + (by > 0 ? Math.min(column, last) : Math.min(last, Math.floor(last / columns) * columns + column)));
  }

  function onkey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || flat.length === 0) return;
    const i = flat.findIndex((e) => e.id === cursor);
    const page = Math.max(1, Math.floor(scroller.clientHeight / rowHeight()) - 1) * columns;
    const moves = {
      ArrowRight: () => moveTo(i + 1), ArrowLeft: () => moveTo(i - 1), ArrowDown: () => vertical(1), ArrowUp: () => vertical(-1),
      Home: () => moveTo(0), End: () => moveTo(flat.length - 1), PageDown: () => moveTo(i + page), PageUp: () => moveTo(i - page),
      Enter: () => { if (i >= 0) onpick(cursor); }, ' ': () => { if (i >= 0) onpick(cursor); },
      '+': () => onzoom(1), '-': () => onzoom(-1),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }

  function onpoint(event) {
    const id = eventEntry(event)?.id ?? '';
    canvas.classList.toggle('over', id !== '');
    if (id === hovered) return;
    hovered = id;
    showTip(id);
    later();
  }

  function onleave() { if (hovered !== '' || !tip.hidden) { hovered = ''; tip.hidden = true; later(); } }

  scroller.addEventListener('keydown', onkey);
  scroller.addEventListener('focus', () => {
    if (!flat.some((e) => e.id === cursor)) cursor = flat.some((e) => e.id === chosen) ? chosen : flat[0]?.id ?? '';
    say();
    later();
  });
  scroller.addEventListener('blur', () => { tip.hidden = true; later(); });
  scroller.addEventListener('scroll', () => { tip.hidden = true; later(); }, { passive: true });
  canvas.addEventListener('pointermove', onpoint);
  canvas.addEventListener('pointerleave', onleave);
  canvas.addEventListener('click', (event) => {
    const entry = eventEntry(event);
    if (!entry) return;
    cursor = entry.id;
    tip.hidden = true;
    say();
    onpick(cursor);
  });
  const repaint = () => { colours = null; later(); };
  window.addEventListener('themechange', repaint);
  const watch = new ResizeObserver(relaid);
  watch.observe(scroller);
  window.addEventListener('resize', relaid);

  return {
    el,
    // update shows other groups of entries. A level that is null is the one that fits;
    // byName says that groups have the beginnings of names as labels.
    update(next) {
      ({ groups, kinds, kind, level: wanted, chosen } = next);
      levels = levelsFor(next.byName);
      flat = groups.flatMap((g) => g.entries);
      layout();
      say();
      if (!tip.hidden) showTip(hovered || cursor);
    },
    level: () => levels.findIndex((one) => one.name === level.name),
    reveal,
    focus() { scroller.focus({ preventScroll: true }); },
    unmount() { watch.disconnect(); window.removeEventListener('themechange', repaint); window.removeEventListener('resize', relaid); },
  };
}
