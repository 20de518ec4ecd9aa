// Charts of the last hours: lines over time with axes, and the values at one moment, which a
// pointer or the arrow keys choose.

import { h } from '../dom.js';
import * as format from '../format.js';

// What is drawn is measured in these units; the drawing is as wide as there is room.
const wide = 360, high = 130, leftMin = 56, right = 8, top = 8, bottom = 20;
const letter = 7; // how wide one at an axis is at most
const marksSaid = 3; // changes that are named at one moment
const gapSteps = 3; // longer than so many usual steps is a time of which nothing is known

// Which moment of a chart was chosen, by the name of the chart: it outlasts a refresh.
const picked = new Map();
let pressed; // the moment that was chosen before a press

// lineChart draws lines over the same moments. A line is { name, tone, values, area, dashed },
// one value for each moment or undefined; moments are in nanoseconds, the oldest first.
// write(n) writes a value with its unit. With stepped lines, each value holds until the next.
// Marks are [{ at, text }]: what happened at a moment. open(at, step) opens the time of a moment: Enter does, and a
// click of a mouse, or a second touch.
export function lineChart({ id, name, moments, lines, write, ceil = niceCeil, marks = [], open }) {
  const from = moments[0], until = Math.max(moments.at(-1), from + 1);
  const most = ceil(Math.max(0, ...lines.flatMap((line) => line.values.map((v) => v ?? 0))));
  const levels = [0, most / 2, most];
  const left = Math.max(leftMin, 6 + letter * Math.max(...levels.map((v) => write(v).length)));
  const x = (at) => left + ((at - from) / (until - from)) * (wide - left - right);
  const y = (v) => top + (1 - v / most) * (high - top - bottom);
  const chosen = indexOf(moments, picked.get(id));
  return h('figure', { class: 'chart', key: id },
    h('figcaption', null, h('strong', null, name)),
    h('div', {
      class: 'chart-plot', tabindex: 0, role: 'slider', 'aria-label': `${name}, from ${clock(from)} to ${clock(until)}`,
      'aria-valuemin': 0, 'aria-valuemax': moments.length - 1, 'aria-valuenow': chosen ?? moments.length - 1,
      'aria-valuetext': said(moments, lines, chosen ?? moments.length - 1, write, marks), 'aria-keyshortcuts': open && 'Enter', title: open && 'Enter or a click opens this minute',
      onpointermove(event) { point(this, event); }, onpointerdown(event) { pressed = picked.get(id); point(this, event); },
      onclick(event) { if (open && (event.pointerType === 'mouse' || pressed === picked.get(id))) opens(); }, onpointerleave() { if (document.activeElement !== this) choose(this, undefined); },
      onfocus() { if (!picked.has(id)) choose(this, moments.length - 1); }, onblur() { choose(this, undefined); },
      onkeydown(event) { walk(this, event); },
    },
      h('svg', { viewBox: `0 0 ${wide} ${high}`, 'aria-hidden': 'true' },
        levels.map((v) => [
          h('line', { class: 'chart-grid', x1: left, x2: wide - right, y1: y(v), y2: y(v) }),
          h('text', { svg: true, class: 'chart-text', x: left - 5, y: y(v) + 3.5, 'text-anchor': 'end' }, write(v))]),
        ticks(from, until).map(([at, anchor]) => h('text', { svg: true, class: 'chart-text', x: x(at), y: high - 6, 'text-anchor': anchor }, clock(at))),
        apart(marks, x).map((at) => h('path', { class: 'chart-mark', d: `M${at} ${top}V${high - bottom}M${at - 3} ${top - 4}h6l-3 5z` })),
        lines.map((line) => drawn(line, moments, x, y)),
        chosen !== undefined && h('line', { class: 'chart-cursor', x1: x(moments[chosen]), x2: x(moments[chosen]), y1: top, y2: high - bottom }))),
    legend(moments, lines, chosen, write, marks));

  function choose(el, i) {
    if (i === undefined) picked.delete(id); else picked.set(id, moments[i]);
    el.dispatchEvent(new CustomEvent('chart', { bubbles: true }));
  }

  function point(el, event) {
    const box = el.getBoundingClientRect();
    const at = from + (((event.clientX - box.left) / box.width * wide - left) / (wide - left - right)) * (until - from);
    const i = nearest(moments, at);
    if (moments[i] !== picked.get(id)) choose(el, i);
  }

  function opens() {
    const at = picked.get(id);
    if (at !== undefined) open(at, usualStep(moments));
  }

  function walk(el, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Enter' && open) { event.preventDefault(); opens(); return; }
    const now = indexOf(moments, picked.get(id)) ?? moments.length - 1, last = moments.length - 1;
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, PageUp: now - 10, PageDown: now + 10, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(el, Math.min(last, Math.max(0, to)));
  }
}

// drawn is a line with the area below it, in parts where something is missing.
function drawn(line, moments, x, y) {
  return parts(line.values, moments).map((part) => {
    const points = part.map((i) => `${x(moments[i]).toFixed(1)},${y(line.values[i]).toFixed(1)}`);
    const ends = [x(moments[part[0]]), x(moments[part.at(-1)])].map((n) => n.toFixed(1));
    return [line.area && h('polygon', { class: `chart-area stroke-${line.tone}`, points: `${ends[0]},${y(0)} ${points.join(' ')} ${ends[1]},${y(0)}` }),
      h('polyline', { class: `chart-line stroke-${line.tone}${line.dashed ? ' chart-dashed' : ''}`, points: part.length > 1 ? points.join(' ') : `${points[0]} ${points[0]}` })];
  });
}

// parts are the indexes of values that are there, apart where there is a gap.
export function parts(values, moments) {
  const usual = usualStep(moments), out = [];
  let last;
  values.forEach((v, i) => {
    if (v === undefined) { last = undefined; return; }
    if (last === undefined || moments[i] - moments[last] > gapSteps * usual) out.push([]);
    out.at(-1).push(i);
    last = i;
  });
  return out;
}

// usualStep is the median of the steps.
function usualStep(moments) {
  const steps = moments.slice(1).map((at, i) => at - moments[i]).sort((a, b) => a - b);
  return steps[Math.floor(steps.length / 2)] ?? 1;
}

// apart are the places of marks that can be told from each other, at most so many as there is room for.
function apart(marks, x) {
  const places = [...new Set(marks.map(({ at }) => Math.round(x(at))))].sort((a, b) => a - b);
  return places.filter((at, i) => i === 0 || at - places[i - 1] > 2);
}

// happened are the texts of marks of which a moment is the nearest, the first of them.
function happened(marks, moments, i) {
  const texts = marks.filter(({ at }) => nearest(moments, at) === i).map(({ text }) => text);
  return texts.length > marksSaid ? [...texts.slice(0, marksSaid), `and ${texts.length - marksSaid} more changes`] : texts;
}

function legend(moments, lines, chosen, write, marks) {
  const i = chosen ?? moments.length - 1;
  return h('ul', { class: 'chart-legend' },
    h('li', { class: 'quiet tabular' }, chosen === undefined ? 'now' : clock(moments[i])),
    lines.map((line) => h('li', null, h('span', { class: ['chart-key', `key-${line.tone}`, line.dashed && 'key-dashed'] }), `${line.name} `,
      h('span', { class: 'tabular' }, line.values[i] === undefined ? '–' : write(line.values[i])))),
    chosen !== undefined && happened(marks, moments, i).map((text) => h('li', null, h('span', { class: 'chart-key key-change', 'aria-hidden': 'true' }, '▾'), text)));
}

function said(moments, lines, i, write, marks) {
  return [clock(moments[i]), ...lines.filter((line) => line.values[i] !== undefined).map((line) => `${line.name} ${write(line.values[i])}`), ...happened(marks, moments, i)].join(', ');
}

// ticks are the moments that the axis names.
function ticks(from, until) { return [[from, 'start'], [(from + until) / 2, 'middle'], [until, 'end']]; }

function clock(nanos) { return format.time(nanos).slice(0, 5); }

function nearest(moments, at) {
  let best = 0;
  moments.forEach((m, i) => { if (Math.abs(m - at) < Math.abs(moments[best] - at)) best = i; });
  return best;
}

// indexOf is where a chosen moment is now, which may have become part of a later one.
function indexOf(moments, at) { return at === undefined ? undefined : nearest(moments, at); }

// niceCeil is the least number from n on that has an even half and one digit or two.
export function niceCeil(n) {
  if (n <= 2) return 2;
  const unit = 10 ** Math.floor(Math.log10(n));
  for (const m of [1, 2, 4, 6, 8, 10]) if (m * unit >= n) return m * unit;
  return n;
}

// niceBytes is the same for bytes.
export function niceBytes(n) {
  let unit = 1;
  while (n >= unit * 1024) unit *= 1024;
  for (const m of [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]) if (m * unit >= n) return m * unit;
  return n;
}
