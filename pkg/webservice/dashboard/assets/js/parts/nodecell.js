// How one node is painted: its use as a fill from below, its states as shapes.

import { percent } from '../format.js';
import { measure } from './nodelist.js';

// levels are the sizes of cells, in pixels: the box, the line of its name and the gap
// to the next. Cells without names grow where there is room. In a card each kind has a bar.
export const levels = [
  { name: 'dots', width: 9, height: 9, label: 0, gap: 2, growMax: 18 },
  { name: 'squares', width: 19, height: 19, label: 0, gap: 3, growMax: 36 },
  { name: 'names', width: 46, height: 30, label: 14, gap: 6, wide: 78 },
  { name: 'cards', width: 152, height: 0, label: 17, gap: 12, card: true },
];

// levelsFor are the levels for groups of nodes: where a group does not say how the
// names of its nodes begin, cells are wide enough for all of a name.
export function levelsFor(byName) {
  return levels.map((level) => (level.wide && !byName ? { ...level, width: level.wide, whole: true } : level));
}

const barHeight = 9; // in a card, with its gap
const kindsMax = 4;

// cardKinds are the kinds that a card shows.
export function cardKinds(kinds) { return kinds.slice(0, kindsMax); }

// grown is a level whose cells are larger by some pixels; null if they do not grow, or
// not as far.
export function grown(level, by) {
  if (!(level.width + by <= level.growMax)) return null;
  return { ...level, width: level.width + by, height: level.height + by };
}

// boxHeight is the height of a cell without its name.
export function boxHeight(level, kinds) { return level.card ? cardKinds(kinds).length * barHeight + 3 : level.height; }

// The shades of own use, from little to much: [least use, colour].
export const shades = [
  [0.95, 'full', '95 % and more'], [0.8, 'much', '80 to 95 %'], [0.5, 'half', '50 to 80 %'], [0, 'some', 'below 50 %'],
];

const names = {
  full: 'var(--own-full)', much: 'var(--own)', half: 'color-mix(in srgb, var(--own) 72%, var(--track))', some: 'color-mix(in srgb, var(--own) 46%, var(--track))',
  daemon: 'var(--daemon)', foreign: 'var(--foreign)', nominated: 'var(--nominated)', track: 'var(--track)', line: 'var(--edge)', surface: 'var(--surface)',
  text: 'var(--text)', quiet: 'var(--quiet)', bad: 'var(--bad)', warn: 'var(--warn)', info: 'var(--info)', accent: 'var(--accent)',
};

// readColours asks the page for the colours of its theme.
export function readColours(el) {
  const probe = document.createElement('span');
  el.append(probe);
  const colours = {};
  for (const [name, value] of Object.entries(names)) {
    probe.style.setProperty('color', value);
    colours[name] = getComputedStyle(probe).color;
  }
  const style = getComputedStyle(probe);
  colours.font = style.fontFamily;
  probe.remove();
  return colours;
}

export function shadeOf(use) { return shades.find(([least]) => use >= least)[1]; }

// stack is what fills a box, from below or from the left: [part, colour].
function stack(m) {
  return [[m.foreign, 'foreign'], [m.daemon, 'daemon'], [m.own, shadeOf(m.use)], [m.nominated, 'nominated']];
}

// paintBox fills a box with the use of a kind: upwards, or to the right.
function paintBox(pen, colours, m, box, across = false) {
  const { x, y, width, height } = box;
  if (!m.has) {
    pen.strokeStyle = colours.track;
    pen.lineWidth = 1;
    pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    return;
  }
  pen.fillStyle = colours.track;
  pen.fillRect(x, y, width, height);
  const long = across ? width : height, scale = Math.max(1, m.use + m.nominated);
  let from = 0;
  for (const [part, colour] of stack(m)) {
    if (part <= 0) continue;
    const size = Math.min(long - from, Math.max(1, Math.round(long * part / scale)));
    if (size <= 0) break;
    pen.fillStyle = colours[colour];
    // What nominated asks get is striped: it is not used yet.
    const [stripe, step] = colour === 'nominated' ? [2, 4] : [size, size];
    for (let at = from; at < from + size; at += step) {
      const thick = Math.min(stripe, from + size - at);
      if (across) pen.fillRect(x + at, y, thick, height); else pen.fillRect(x, y + height - at - thick, width, thick);
    }
    from += size;
  }
  if (m.use > 1) {
    pen.fillStyle = colours.bad;
    if (across) pen.fillRect(x + width - 3, y, 3, height); else pen.fillRect(x, y, width, Math.max(2, height / 10));
  }
}

// Marks are drawn with a halo, so that they can be seen on every fill.
function paintMark(pen, colours, colour, size, points, closed = true) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i === 0 || points.open && i % 2 === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y)));
  if (closed) pen.closePath();
  pen.lineJoin = 'round';
  pen.strokeStyle = colours.surface;
  pen.lineWidth = closed ? Math.max(2, size / 4) : size;
  pen.stroke();
  if (closed) {
    pen.fillStyle = colours[colour];
    pen.fill();
  } else {
    pen.strokeStyle = colours[colour];
    pen.lineWidth = Math.max(1.25, size / 2);
    pen.stroke();
  }
}

const drained = (node) => !node.schedulable;
const reserved = (node) => node.isReserved || node.nominations?.length > 0;
const evicting = (node) => node.evictions?.length > 0;

function paintCross(pen, colours, x, y, d, thick) {
  const cross = Object.assign([[x - d, y - d], [x + d, y + d], [x + d, y - d], [x - d, y + d]], { open: true });
  paintMark(pen, colours, 'bad', thick, cross, false);
}

function paintDiamond(pen, colours, x, y, size) {
  const r = size / 2;
  paintMark(pen, colours, 'info', size, [[x + r, y], [x + size, y + r], [x + r, y + size], [x, y + r]]);
}

function paintTriangle(pen, colours, x, y, size) {
  paintMark(pen, colours, 'warn', size, [[x + size / 2, y], [x + size, y + size], [x, y + size]]);
}

// paintMarks marks a box with the states of its node.
function paintMarks(pen, colours, node, { x, y, width, height }) {
  const size = Math.max(4.5, Math.min(11, height / 2.4));
  if (drained(node)) {
    paintCross(pen, colours, x + width / 2, y + height / 2, Math.min(width, height) * 0.36, Math.max(2.5, size / 2));
    pen.strokeStyle = colours.bad;
    pen.lineWidth = 1;
    pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  }
  if (reserved(node)) paintDiamond(pen, colours, x + width - size, y, size);
  if (evicting(node)) paintTriangle(pen, colours, x, y, size);
}

// paintCell paints an entry at a place. Mark is '', 'cursor' or 'chosen'.
export function paintCell(pen, colours, { level, kinds }, entry, x, y, mark = '') {
  const box = { x, y, width: level.width, height: boxHeight(level, kinds) };
  if (level.card) {
    paintCard(pen, colours, cardKinds(kinds), entry, box, level);
  } else {
    paintBox(pen, colours, entry.m, box);
    paintMarks(pen, colours, entry.node, box);
    if (level.label) paintName(pen, colours, level.whole ? entry.short : entry.short.split(/[-_]/).at(-1), x, y + box.height + level.label - 3, level.width);
  }
  if (mark) paintOutline(pen, colours, mark, { ...box, height: box.height + level.label });
}

// paintOutline goes around a cell, with a halo to all others.
function paintOutline(pen, colours, mark, { x, y, width, height }) {
  const rim = (out, thick, colour) => {
    pen.strokeStyle = colours[colour];
    pen.lineWidth = thick;
    pen.strokeRect(x - out, y - out, width + 2 * out, height + 2 * out);
  };
  pen.lineJoin = 'miter';
  rim(2, 4, 'surface');
  rim(2.5, mark === 'chosen' ? 3 : 1.5, mark === 'chosen' ? 'accent' : 'text');
}

function paintCard(pen, colours, kinds, entry, { x, y, width }, level) {
  const { node } = entry, size = 9, base = y + level.label - 5;
  let right = x + width;
  pen.font = `11px ${colours.font}`;
  pen.fillStyle = colours.quiet;
  const words = entry.m.has ? percent(entry.m.use) : '';
  right -= pen.measureText(words).width;
  pen.fillText(words, right, base);
  if (drained(node)) { right -= size + 6; paintCross(pen, colours, right + size / 2, base - 4, size / 2 - 1, 4); }
  if (reserved(node)) { right -= size + 6; paintDiamond(pen, colours, right, base - size + 1, size); }
  if (evicting(node)) { right -= size + 6; paintTriangle(pen, colours, right, base - size + 1, size); }
  paintName(pen, colours, entry.short, x, base, right - 6 - x);
  kinds.forEach((kind, i) => paintBox(pen, colours, kind === entry.m.kind ? entry.m : measure(entry.node, kind), { x, y: y + level.label + i * barHeight, width, height: barHeight - 2 }, true));
}

// paintName writes the end of a name, as names differ there.
function paintName(pen, colours, text, x, y, width) {
  pen.font = `11px ${colours.font}`;
  pen.fillStyle = colours.text;
  let shown = text;
  if (pen.measureText(shown).width > width) {
    const letter = pen.measureText('0').width;
    shown = `…${text.slice(-Math.max(1, Math.floor(width / letter) - 1))}`;
  }
  pen.fillText(shown, x, y);
}
