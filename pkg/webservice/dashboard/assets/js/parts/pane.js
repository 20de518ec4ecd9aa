// The pane with the details of what was chosen, beside the list or below it.

import { h } from '../dom.js';

// pane makes it: title and note head it, onclose is called to close it, and content
// is its sections.
export function pane({ title, note, onclose }, ...content) {
  return h('section', { class: 'details', 'aria-label': `Details of ${title}`, key: 'details' },
    h('div', { class: 'details-head' },
      h('h2', null, title, note && h('span', { class: 'details-note' }, note)),
      h('button', { type: 'button', class: 'icon', 'aria-label': 'Close the details', title: 'Close (Esc)', onclick: onclose }, '×')),
    content);
}

// section is a part of a pane; without content it is nothing.
export function section(name, ...content) {
  const some = content.flat(Infinity).some((c) => c !== null && c !== undefined && c !== false);
  return some ? h('div', { class: 'section' }, h('h3', null, name), content) : null;
}
