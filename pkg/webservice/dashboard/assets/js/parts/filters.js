// Fields that pick from a list. What is picked stands in the address, so that it
// can be sent on, and so that the way back leads to the same list.

import { h } from '../dom.js';
import { addressOf, localOf } from './moments.js';

const pause = 250; // milliseconds after the last letter

// createFilters makes the fields of a list. A field is { name, label, kind, options }:
// kind is 'search', 'text', 'time' or 'select', whose options are [value, text]. Parts() are
// those of the address, which stay.
export function createFilters(ctx, panel, parts = () => []) {
  let timer = 0;

  function change(changes) {
    clearTimeout(timer);
    const query = new URLSearchParams(ctx.route().query);
    for (const [name, value] of Object.entries({ offset: '', ...changes })) {
      if (value === '' || value === null) query.delete(name); else query.set(name, value);
    }
    ctx.go(ctx.link(panel, parts(), query), true);
  }

  function later(name, value) {
    clearTimeout(timer);
    timer = setTimeout(() => { if (ctx.route().panel === panel) change({ [name]: value }); }, pause); // the page may be elsewhere by then
  }

  function field({ name, label, kind, options, placeholder }) {
    const now = ctx.route().query.get(name) ?? '';
    if (kind === 'select') {
      const known = options.some(([value]) => value === now) ? options : [...options, [now, now]];
      return h('select', { key: name, name, 'aria-label': label, onchange() { change({ [name]: this.value }); } },
        known.map(([value, text]) => h('option', { value, selected: value === now }, text)));
    }
    if (kind === 'time') {
      return h('label', { key: name, class: 'time-field' }, h('span', { class: 'quiet' }, label), h('input', {
        name, type: 'datetime-local', step: 1, value: localOf(now), onchange() { change({ [name]: addressOf(this.value) }); },
      }));
    }
    return h('input', {
      key: name, name, type: kind === 'search' ? 'search' : 'text', 'aria-label': label, placeholder: placeholder ?? label,
      spellcheck: 'false', autocomplete: 'off', value: now,
      oninput() { later(name, this.value.trim()); },
      onkeydown(event) { if (event.key === 'Enter') change({ [name]: this.value.trim() }); },
    });
  }

  return {
    change,
    fields: (...list) => list.map(field),
    page: (offset) => change({ offset: offset > 0 ? String(offset) : '' }),
    stop: () => clearTimeout(timer),
  };
}

// beginsWith is a filter of REST for names that begin with a text.
export function beginsWith(text) { return text ? `${text}*` : ''; }

// offsetOf is the place in a list that the address says.
export function offsetOf(query) { return Math.max(0, Number.parseInt(query.get('offset') ?? '0', 10) || 0); }
