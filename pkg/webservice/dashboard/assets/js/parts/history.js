// What a queue, or the cluster, used in the last hours, what waited there, and what was
// placed and preempted.

import { h, render } from '../dom.js';
import * as format from '../format.js';
import { lineChart, niceBytes, niceCeil } from './chart.js';
import { fewKinds } from './kindchoice.js';
import { minuteOf } from './moments.js';
import { capital } from './words.js';

const pointsMax = 180; // in one chart
const every = 20000; // milliseconds until points are read again
const marksMax = 200; // changes that are marked
const reasonsMax = 4; // lines of reasons; the rest is one more
const tones = ['one', 'two', 'three', 'four'];

// createHistory keeps the points of one queue after the other. read(queue, signal) reads them
// if it is time to, and charts(queue) draws them.
export function createHistory(ctx) {
  let known = { key: '', at: -Infinity, points: [], marks: [] }, wanted = '';

  const keyOf = (queue) => `${ctx.partition()} ${queue}`;

  async function read(queue, signal) {
    const key = wanted = keyOf(queue);
    if (key === known.key && performance.now() - known.at < every) return;
    const points = await ask({ queue, ...stepOf(key === known.key ? known.points : []) }, signal);
    const marks = points.length < 2 ? [] : await changes(points[0].timestamp, signal);
    if (key === wanted) known = { key, at: performance.now(), points, marks };
  }

  // changes are what an operator or the surroundings changed, to be marked in the charts.
  async function changes(from, signal) {
    try {
      const path = ctx.api.path('partition', ctx.partition(), 'changes');
      const { data } = await ctx.api.get(path, { params: { kind: 'start,configuration,nodes', fields: 'time,summary', from, limit: marksMax }, signal });
      return data.map(({ time, summary }) => ({ at: time, text: summary }));
    } catch (err) {
      if (err.status !== 404) throw err;
      return [];
    }
  }

  async function ask(query, signal) {
    try {
      const path = ctx.api.path('partition', ctx.partition(), 'history');
      return (await ctx.api.get(`${path}?${new URLSearchParams(query)}`, { signal })).data;
    } catch (err) {
      if (err.status !== 404) throw err;
      return []; // the queue or the partition is gone
    }
  }

  // charts are the drawings in an element of their own, which draws itself again when
  // another moment is chosen.
  function charts(queue) {
    const points = known.key === keyOf(queue) ? known.points : null;
    const more = { marks: known.marks, open: (at, step) => ctx.go(ctx.link('changes', [], minuteOf(at, step))) };
    const el = h('div', { class: 'charts', key: `charts ${queue}`, onchart() { render(this, drawings(points, queue, more)); } });
    render(el, drawings(points, queue, more));
    return el;
  }

  return { read, charts };
}

// stepOf asks for points farther apart where those that are known are too many for a chart.
function stepOf(points) {
  if (points.length < pointsMax) return {};
  const length = points.at(-1).timestamp - points[0].timestamp;
  return { step: Math.ceil(length / pointsMax / 1e9) * 1e9 };
}

function drawings(points, id, more) {
  if (points === null) return h('p', { class: 'quiet' }, 'One moment.');
  if (points.length < 2) return h('p', { class: 'quiet' }, 'There are charts as soon as two points are known. They may not be kept.');
  const moments = points.map((p) => p.timestamp), draw = (chart) => lineChart({ ...chart, moments, ...more });
  return [...useOf(points, id), waiting(points, id), rates(points, moments, id)].map(draw);
}

// useOf is what is drawn for each kind that is shown: what is used, with the guarantee of a queue or
// the capacity of the cluster.
function useOf(points, id) {
  const all = format.kinds(...points.map((p) => p.used), points.at(-1).guaranteed, points.at(-1).capacity);
  return fewKinds(all).map((kind) => {
    const line = (name, tone, field, more) => ({ name, tone, values: points.map((p) => p[field]?.[kind] ?? 0), ...more });
    const some = (l) => (l.values.some((v) => v > 0) ? [l] : []);
    return {
      id: `${id} ${kind}`, name: `${format.kindName(kind)} used`, write: (n) => format.amount(kind, n), ceil: format.isBytes(kind) ? niceBytes : niceCeil,
      lines: [line('used', 'one', 'used', { area: true }), ...some(line('by others', 'four', 'occupied')),
        ...some(line('guaranteed', 'mark', 'guaranteed', { dashed: true })), ...some(line('capacity', 'plain', 'capacity', { dashed: true }))],
    };
  });
}

function waiting(points, id) {
  const sums = new Map();
  for (const p of points) for (const [why, n] of Object.entries(p.pendingBy)) sums.set(why, (sums.get(why) ?? 0) + n);
  const order = [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([why]) => why);
  const some = order.length > reasonsMax ? order.slice(0, reasonsMax - 1) : order;
  const lines = some.map((why, i) => ({ name: capital(why), tone: tones[i], values: points.map((p) => p.pendingBy[why] ?? 0) }));
  const rest = order.slice(some.length);
  if (rest.length) lines.push({ name: `${rest.length} other reasons`, tone: tones[reasonsMax - 1], values: points.map((p) => rest.reduce((n, why) => n + (p.pendingBy[why] ?? 0), 0)) });
  if (lines.length === 0) lines.push({ name: 'nothing waits', tone: 'one', values: points.map(() => 0) });
  return { id: `${id} pending`, name: 'Pending asks by reason', lines, write: asks };
}

const asks = (n) => format.short(Math.round(n));

// rates are placements and preemptions per minute, as steps may differ.
function rates(points, moments, id) {
  const of = (field) => points.map((p, i) => (i === 0 ? undefined : (p[field] * 60e9) / Math.max(1, moments[i] - moments[i - 1])));
  return {
    id: `${id} rates`, name: 'Placed and preempted, per minute', write: (n) => `${n > 0 && n < 10 ? Number(n.toFixed(1)) : format.short(Math.round(n))}/min`,
    lines: [{ name: 'placed', tone: 'one', values: of('placements') }, { name: 'preempted', tone: 'two', values: of('preemptions') }],
  };
}
