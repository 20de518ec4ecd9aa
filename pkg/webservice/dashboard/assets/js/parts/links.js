// Links from one thing to another, so that each is one click away wherever it is named.

import { h, state } from '../dom.js';

const nodeMax = 26; // letters of the name of a node that are shown

// shortNode is the name of a node with its middle left out if it is long: names mostly
// differ at their ends.
function shortNode(id) { return id.length > nodeMax ? `${id.slice(0, 12)}…${id.slice(-11)}` : id; }

export function nodeLink(ctx, id, text = shortNode(id ?? '')) { return id ? h('a', { href: ctx.link('nodes', [id]), title: id }, text) : null; }

export function queueLink(ctx, path, text = path) { return path ? h('a', { href: ctx.link('queues', [path]) }, text) : null; }

export function applicationLink(ctx, id, text = id) { return id ? h('a', { href: ctx.link('applications', [id]) }, text) : null; }

// askLink leads to why an ask waits, or an allocation is evicted. One that has no known
// application is named only.
export function askLink(ctx, application, key, text = key) {
  if (!key) return null;
  return application ? h('a', { href: ctx.link('applications', [application, key]) }, text) : h('span', null, text);
}

// crumbs is the way back up: [[text, href], …, [text]].
export function crumbs(...steps) {
  return h('nav', { class: 'crumbs', 'aria-label': 'Where this is' },
    h('ol', null, steps.map(([text, href], i) => h('li', null,
      href ? h('a', { href }, text) : h('span', { 'aria-current': i === steps.length - 1 ? 'page' : null }, text)))));
}

// subtabs leads from one view of a panel to another: views are [[id, text, query], …].
export function subtabs(ctx, panel, label, current, views) {
  return h('nav', { class: 'subtabs', 'aria-label': label }, views.map(([id, text, query]) => h('a', {
    class: 'subtab', href: ctx.link(panel, [], query), 'aria-current': id === current ? 'page' : null,
  }, text)));
}

// noneLike is what a list shows of which the filters leave nothing; href is the list without them.
export function noneLike(title, href) {
  return state('empty', title, 'Nothing fits all that is chosen above.', h('a', { class: 'button', href }, 'Show all'));
}

// copyButton puts a text on the clipboard; text() is asked when it is pressed.
export function copyButton(ctx, label, text) {
  return h('button', {
    type: 'button',
    async onclick() {
      const done = await ctx.copy(text());
      this.textContent = done ? 'Copied' : 'Not allowed';
    },
  }, label);
}
