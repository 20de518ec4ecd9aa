// Small drawings of numbers over time and of how often something is.

import { h } from '../dom.js';

const wide = 100, high = 28;

// spark draws a line of values, the oldest first, from zero to the largest.
export function spark(values, label) {
  const most = Math.max(1e-9, ...values);
  const x = (i) => (values.length < 2 ? 0 : (i / (values.length - 1)) * wide).toFixed(2);
  const y = (v) => (high - 1 - (v / most) * (high - 3)).toFixed(2);
  const line = values.map((v, i) => `${x(i)},${y(v)}`).join(' ');
  return h('svg', { class: 'spark', viewBox: `0 0 ${wide} ${high}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    values.length > 1 && [
      h('polygon', { class: 'spark-area', points: `0,${high} ${line} ${wide},${high}` }),
      h('polyline', { class: 'spark-line', points: line }),
    ]);
}

// columns draws how often something is: [{ name, n }], with a name for screen readers
// and for a pointer at one.
export function columns(list, label) {
  const most = Math.max(1, ...list.map((one) => one.n));
  return h('div', { class: 'histo', role: 'img', 'aria-label': label }, list.map(({ name, n, tone = 'own' }) =>
    h('span', { title: `${name}: ${n}` }, h('i', { class: [`fill-${tone}`, n > 0 && 'some'], style: { height: `${(n / most) * 100}%` } }))));
}
