// What the cells of the map mean, painted as the map paints them.

import { h, render } from '../dom.js';
import * as format from '../format.js';
import { cardKinds, levels, paintCell, readColours, shades } from './nodecell.js';

const sample = { width: 18, height: 18, label: 0, gap: 0 };
const plain = { schedulable: true };

const of = (parts) => ({ kind: 'vcore', has: true, use: (parts.foreign ?? 0) + (parts.daemon ?? 0) + (parts.own ?? 0), foreign: 0, daemon: 0, own: 0, nominated: 0, ...parts });

// What is explained: [words, what a node looks like].
const items = [
  ...[...shades].reverse().map(([least, , words]) => [words, { m: of({ own: Math.max(0.3, least) }), node: plain }]),
  ['daemonsets', { m: of({ daemon: 0.6 }), node: plain }],
  ['other schedulers', { m: of({ foreign: 0.6 }), node: plain }],
  ['nominated', { m: of({ nominated: 0.6 }), node: plain }],
  ['over capacity', { m: of({ own: 1.2 }), node: plain }],
  ['drained', { m: of({}), node: { schedulable: false } }],
  ['reserved', { m: of({}), node: { schedulable: true, isReserved: true } }],
  ['evicting', { m: of({}), node: { schedulable: true, evictions: [1] } }],
];

// nodeLegend makes the legend: { el, update(kinds, kind, level), unmount() }.
export function nodeLegend() {
  const pictures = items.map(([, entry]) => [h('canvas', { class: 'sample', 'aria-hidden': 'true' }), entry]);
  const words = h('p', { class: 'quiet legend-words' });
  const el = h('div', { class: 'nodes-legend', data: { keep: '' } }, words,
    h('ul', { class: 'legend', 'aria-label': 'Legend' }, items.map(([text], i) => h('li', null, pictures[i][0], text))));
  let painted = false;

  function paint() {
    if (!el.isConnected) return;
    painted = true;
    const colours = readColours(el), ratio = window.devicePixelRatio || 1;
    for (const [canvas, entry] of pictures) {
      canvas.width = canvas.height = sample.width * ratio;
      const pen = canvas.getContext('2d');
      pen.scale(ratio, ratio);
      paintCell(pen, colours, { level: sample, kinds: [] }, { id: '', ...entry }, 0, 0);
    }
  }

  window.addEventListener('themechange', paint);
  return {
    el,
    update(kinds, kind, level) {
      const card = levels[level]?.card;
      render(words, card ? `Bars: ${cardKinds(kinds).map(format.kindName).join(', ')}, from above.`
        : kind ? `A cell is filled by the use of ${format.kindName(kind)}.` : 'A cell is filled by the use of what its node has least left of.');
      if (!painted) paint();
    },
    unmount() { window.removeEventListener('themechange', paint); },
  };
}
