// How queues stand to what is guaranteed to them, as REST says it: the same words,
// colours and order in every panel.

import { badge, bar, h } from '../dom.js';
import * as format from '../format.js';

export const under = 'under and waiting', over = 'over', within = 'within';

// guaranteeStates are all of them, in the order in which people should look at them.
export const guaranteeStates = [under, over, within];

const looks = {
  [under]: ['bad', 'under, waiting', 'It uses less of a kind than is guaranteed to it, and pods wait there for that'],
  [over]: ['warn', 'over', 'It uses more than is guaranteed to it: others may get that back'],
  [within]: ['good', 'within', 'It uses no more than is guaranteed to it, and waits for none of that'],
};

// words are a guarantee state as a sentence begins.
export const words = { [under]: 'Under and waiting', [over]: 'Over', [within]: 'Within' };

// guaranteeStateBadges are how a queue, or a row of the ranking, stands. One that is under its
// guarantee of some kind may be over that of others, which is said beside it.
export function guaranteeStateBadges({ guaranteeState, guaranteeStateByKind }) {
  if (!guaranteeState) return [];
  const beyond = guaranteeState === under ? Object.keys(guaranteeStateByKind ?? {}).filter((kind) => guaranteeStateByKind[kind] === over) : [];
  return [badge(...looks[guaranteeState]), ...beyond.map((kind) => badge('warn', `over in ${format.kindName(kind)}`, looks[over][2]))];
}

// toneOf is the colour of the figures of a queue.
export function toneOf(guaranteeState) { return guaranteeState === under ? 'bad-text' : guaranteeState === over ? 'warn-text' : ''; }

// row is a queue of the tree as the ranking shows it: all of it in the kind that decides, or how it
// stands in another one.
export function row(queue, kind = '') {
  const of = kind || queue.guaranteedKind;
  const amount = (field) => queue[field]?.[of] ?? 0;
  const [used, guaranteed, pending] = ['allocatedResource', 'guaranteedResource', 'pendingResource'].map(amount);
  return {
    queueName: queue.queuename, guaranteeState: kind ? queue.guaranteeStateByKind[kind] : queue.guaranteeState, guaranteeStateByKind: kind ? null : queue.guaranteeStateByKind, kind: of, used, guaranteed, pending, max: queue.maxResource?.[of],
    percent: guaranteed > 0 ? Math.floor((used / guaranteed) * 100) : null,
  };
}

// compare puts those first that are under and wait, the least part first, and then those
// that use the greatest part.
export function compare(a, b) {
  const order = guaranteeStates.indexOf(a.guaranteeState) - guaranteeStates.indexOf(b.guaranteeState);
  const part = (r) => (r.guaranteed > 0 ? r.used / r.guaranteed : -1);
  const size = a.guaranteeState === under ? part(a) - part(b) : part(b) - part(a);
  return order || size || (a.queueName < b.queueName ? -1 : 1);
}

// meter draws a row on the scale of its own queue: up to its max, or to what it uses or is
// guaranteed to it. What is used beyond the guarantee, and what lacks, can be told apart.
export function meter(r) {
  const lacks = r.guaranteeState === under ? Math.min(r.pending, Math.max(0, r.guaranteed - r.used)) : 0;
  const whole = Math.max(r.max ?? 0, r.guaranteed, r.used + lacks, 1) * (r.max > r.guaranteed ? 1 : 1.02);
  const say = (n) => format.amount(r.kind, n);
  const marks = [{ part: r.guaranteed / whole, kind: 'guaranteed' }];
  if (r.max !== undefined) marks.push({ part: r.max / whole, kind: 'max' });
  const label = `${r.queueName} uses ${say(r.used)} of ${say(r.guaranteed)} ${format.kindName(r.kind)} guaranteed`
    + `${r.max === undefined ? '' : `, ${say(r.max)} max`}${r.pending > 0 ? `, ${say(r.pending)} pending` : ''}`;
  return bar({ label, marks, parts: [
    { part: Math.min(r.used, r.guaranteed) / whole, tone: 'own' }, { part: Math.max(0, r.used - r.guaranteed) / whole, tone: 'over' }, { part: lacks / whole, tone: 'lacking' },
  ] });
}

const figure = (r, n) => (n === undefined ? h('span', { class: 'quiet' }, 'none') : format.amount(r.kind, n));

// columns are those of a table of rows; link makes the first cell. A table that cannot be sorted has
// little room: there the bars alone show the max.
export function columns(link, sort = false) {
  const by = (name) => (sort ? name : undefined);
  return [
    { head: 'Queue', class: 'whole', sort: by('queueName'), cell: (r) => link(r) },
    { head: 'Guarantee', sort: by('guaranteeState'), cell: (r) => guaranteeStateBadges(r).flatMap((one) => [one, ' ']) },
    { head: 'Use', class: 'grow', cell: (r) => meter(r) },
    { head: 'Part', sort: by('percent'), title: 'Used, of what is guaranteed of the kind that decides', cell: (r) => [h('strong', { class: [toneOf(r.guaranteeState), 'nowrap'] }, r.percent === null ? '–' : `${format.count(r.percent)} %`), ' ', h('span', { class: 'quiet nowrap' }, `of ${format.kindName(r.kind)}`)] },
    { head: 'Used', num: true, sort: by('used'), class: 'nowrap', cell: (r) => figure(r, r.used) },
    { head: 'Guaranteed', num: true, sort: by('guaranteed'), class: 'nowrap', cell: (r) => figure(r, r.guaranteed) },
    sort && { head: 'Max', num: true, sort: by('max'), class: 'nowrap', cell: (r) => figure(r, r.max) },
    { head: 'Pending', num: true, sort: by('pending'), class: 'nowrap', cell: (r) => (r.pending > 0 ? figure(r, r.pending) : '–') },
  ].filter(Boolean);
}
