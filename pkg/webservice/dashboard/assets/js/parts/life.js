// What an ask or allocation has been, and when an ask will run.

import * as format from '../format.js';
import { bar, h, pairs } from '../dom.js';
import { capital, readable } from './words.js';

const tones = ['own', 'foreign', 'daemon', 'nominated', 'evicting'];

// lifeCard is how long it waited for what, what happened to it, and what the same pod was before.
export function lifeCard(ctx, life) {
  if (!life) return null;
  const waits = [...(life.waits ?? [])];
  if (life.unknownTime) waits.unshift({ why: 'before the scheduler knew of it', time: life.unknownTime });
  const all = waits.reduce((sum, w) => sum + w.time, 0);
  return h('section', { class: 'card' }, h('h2', null, 'Its life'),
    pairs(
      ['Asked for', life.requestTime && `${format.date(life.requestTime)}, ${format.age(life.requestTime, ctx.now())} ago`],
      ['Waited', life.waitTime && format.duration(life.waitTime)],
      ...waits.map((w, i) => [h('span', null, h('span', { class: ['swatch', `fill-${tones[i % tones.length]}`] }), ' ', format.duration(w.time)), capital(w.why)]),
      ['Ran', life.startTime && `${format.duration((life.endTime ?? ctx.now() * 1e6) - life.startTime)}, from ${format.date(life.startTime)} on`],
      ...(life.before ?? []).map((one) => ['Before', ran(one)])),
    waits.length > 1 && bar({
      parts: waits.map((w, i) => ({ part: w.time / all, tone: tones[i % tones.length] })), label: waits.map((w) => `${format.duration(w.time)} ${w.why}`).join(', '),
    }),
    (life.marks ?? []).length > 0 && h('ul', { class: 'bullets' }, life.marks.map((m) => h('li', null, `${format.date(m.time)}: ${m.text}`))));
}

function ran(life) {
  const last = life.marks?.at(-1)?.text;
  return `waited ${format.duration(life.waitTime)}${life.startTime ? `, ran ${format.duration(life.endTime - life.startTime)}` : ''}${last ? `; ${last}` : ''}`;
}

// forecastPairs is its place in line, and an estimate or why there is none.
export function forecastPairs(f) {
  if (!f) return [];
  return [
    ['Place in line', f.place && `${format.count(f.place)} of ${format.count(f.of)} that wait; ${format.count(f.placeInQueue)} of ${format.count(f.ofQueue)} in its queue`],
    ['Will run', f.no ? `No estimate: ${readable(f.no)}` : `In ${format.duration(f.least)} to ${format.duration(f.most)}, by how long others ran and what came lately${f.wrong ? `. ${format.plural(f.wrong, 'estimate')} before this one did not hold` : ''}`],
  ];
}
