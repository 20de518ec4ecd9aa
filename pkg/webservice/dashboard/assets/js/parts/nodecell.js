// How one node is painted: its use as a fill from below, its states as shapes.

import { measure } from './nodelist.js';

// levels are the sizes of cells, in pixels: the box, the line of its name and the gap
// to the next. In a card each kind has a bar.
export const levels = [
  { name: 'dots', width: 9, height: 9, label: 0, gap: 2 },
  { name: 'squares', width: 19, height: 19, label: 0, gap: 3 },
  { name: 'names', width: 46, height: 30, label: 14, gap: 6 },
  { name: 'cards', width: 152, height: 0, label: 17, gap: 12, card: true },
];

const barHeight = 9; // in a card, with its gap
const kindsMax = 4;

// cardKinds are the kinds that a card shows.
export function cardKinds(kinds) { return kinds.slice(0, kindsMax); }

// boxHeight is the height of a cell without its name.
export function boxHeight(level, kinds) { return level.card ? cardKinds(kinds).length * barHeight + 3 : level.height; }

// The shades of own use, from little to much: [least use, colour].
export const shades = [
  [0.95, 'full', '95 % and more'], [0.8, 'much', '80 to 95 %'], [0.5, 'half', '50 to 80 %'], [0, 'some', 'below 50 %'],
];

const names = {
  full: 'var(--own-full)', much: 'var(--own)', half: 'color-mix(in srgb, var(--own) 72%, var(--track))', some: 'color-mix(in srgb, var(--own) 46%, var(--track))',
  daemon: 'var(--daemon)', foreign: 'var(--foreign)', promised: 'var(--promised)', track: 'var(--track)', line: 'var(--edge)', surface: 'var(--surface)',
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
  return [[m.foreign, 'foreign'], [m.daemon, 'daemon'], [m.own, shadeOf(m.use)], [m.promised, 'promised']];
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
  const long = across ? width : height, scale = Math.max(1, m.use + m.promised);
  let from = 0;
  for (const [part, colour] of stack(m)) {
    if (part <= 0) continue;
    const size = Math.min(long - from, Math.max(1, Math.round(long * part / scale)));
    if (size <= 0) break;
    pen.fillStyle = colours[colour];
    if (across) pen.fillRect(x + from, y, size, height); else pen.fillRect(x, y + height - from - size, width, size);
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

function paintMarks(pen, colours, node, { x, y, width, height }) {
  const size = Math.max(4.5, Math.min(10, height / 2.6));
  if (!node.schedulable) {
    const d = Math.min(width, height) * 0.36, cx = x + width / 2, cy = y + height / 2;
    const cross = Object.assign([[cx - d, cy - d], [cx + d, cy + d], [cx + d, cy - d], [cx - d, cy + d]], { open: true });
    paintMark(pen, colours, 'bad', Math.max(2.5, size / 2), cross, false);
    pen.strokeStyle = colours.bad;
    pen.lineWidth = 1;
    pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  }
  if (node.isReserved || node.nominations?.length) {
    const r = size / 2, cx = x + width - r, cy = y + r;
    paintMark(pen, colours, 'info', size, [[cx, cy - r], [cx + r, cy], [cx, cy + r], [cx - r, cy]]);
  }
  if (node.leaving?.length) paintMark(pen, colours, 'warn', size, [[x + size / 2, y], [x + size, y + size], [x, y + size]]);
}

// paintCell paints an entry at a place. Mark is '', 'cursor' or 'chosen'.
export function paintCell(pen, colours, { level, kinds }, entry, x, y, mark = '') {
  const box = { x, y, width: level.width, height: boxHeight(level, kinds) };
  if (level.card) {
    paintCard(pen, colours, cardKinds(kinds), entry, box, level);
  } else {
    paintBox(pen, colours, entry.m, box);
    paintMarks(pen, colours, entry.node, box);
    if (level.label) paintName(pen, colours, entry.id.split('.')[0].split(/[-_]/).at(-1), x, y + box.height + level.label - 3, level.width);
  }
  if (mark) {
    const out = level.label ? 2 : 1;
    pen.strokeStyle = mark === 'chosen' ? colours.accent : colours.text;
    pen.lineWidth = 2;
    pen.strokeRect(x - out, y - out, box.width + 2 * out, box.height + level.label + 2 * out);
  }
}

function paintCard(pen, colours, kinds, entry, { x, y, width }, level) {
  paintName(pen, colours, entry.id, x, y + level.label - 5, width - 34);
  kinds.forEach((kind, i) => paintBox(pen, colours, kind === entry.m.kind ? entry.m : measure(entry.node, kind), { x, y: y + level.label + i * barHeight, width, height: barHeight - 2 }, true));
  paintMarks(pen, colours, entry.node, { x: x + width - 32, y: y + 1, width: 32, height: 13 });
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
