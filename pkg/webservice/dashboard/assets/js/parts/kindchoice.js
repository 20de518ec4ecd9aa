// Which kinds of resources lists show: those that were chosen or, if none was, the first
// ones by importance. The choice holds for all panels and stays in the browser.

import { h } from '../dom.js';
import * as format from '../format.js';

const place = 'narwhal.kinds';
const fewMax = 3; // without a choice

let chosen = stored();

function stored() {
  try {
    const list = JSON.parse(localStorage.getItem(place) ?? '[]');
    return new Set(Array.isArray(list) ? list : []);
  } catch { return new Set(); }
}

function choose(kind, is) {
  if (is) chosen.add(kind); else chosen.delete(kind);
  keep();
}

function keep() {
  try { localStorage.setItem(place, JSON.stringify([...chosen])); } catch { /* it lasts as long as the page */ }
}

// fewKinds are those of some kinds that are shown. At least one is, if there is any.
export function fewKinds(all, max = fewMax) {
  const wanted = all.filter((kind) => chosen.has(kind));
  return wanted.length > 0 ? wanted : all.slice(0, max);
}

// fewAmounts is quantities in a cell: the kinds that are shown, and how many more there
// are, all of which a pointer at it says.
export function fewAmounts(of, none = 'nothing') {
  const all = format.kinds(of), few = fewKinds(all), more = all.length - few.length;
  if (all.length === 0) return none;
  return h('span', { class: 'amounts', title: format.amounts(of) }, few.map((kind, i) => [i > 0 && ' ', h('span', { class: 'nowrap' }, `${format.kindName(kind)} ${format.amount(kind, of[kind])}${i < few.length - 1 ? ' ·' : ''}`)]),
    more > 0 && [' ', h('span', { class: 'quiet nowrap' }, `+${more} more`)]);
}

// kindChooser is the list of kinds with a box for each; onchange is called after a choice.
export function kindChooser(all, onchange) {
  const box = (kind) => h('label', { key: kind }, h('input', {
    type: 'checkbox', checked: chosen.has(kind), onchange() { choose(kind, this.checked); onchange(); },
  }), kind);
  const picked = all.filter((kind) => chosen.has(kind)).length;
  return h('details', {
    class: 'chooser', key: 'kinds',
    onkeydown(event) { if (event.key === 'Escape' && this.open) { this.open = false; this.firstChild.focus(); event.preventDefault(); event.stopPropagation(); } },
    onfocusout(event) { if (event.relatedTarget && !this.contains(event.relatedTarget)) this.open = false; },
  },
    h('summary', { class: 'button', 'aria-label': 'Kinds of resources that are shown' }, picked ? `Kinds (${picked})` : 'Kinds'),
    h('div', { class: 'chooser-menu', tabindex: -1 }, all.map(box),
      h('button', { type: 'button', disabled: picked === 0, onclick: () => { chosen = new Set(); keep(); onchange(); } }, 'The most important')));
}
