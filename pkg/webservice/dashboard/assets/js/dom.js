// Making and renewing elements. Nothing here reads HTML from a string: what users
// named can never become markup.

const handlers = Symbol('handlers');
const svgTags = new Set(['svg', 'path', 'rect', 'circle', 'line', 'g', 'polyline', 'polygon', 'text', 'title', 'defs', 'pattern']);

// h makes an element. Of the properties
//
//   class    is a text, or a list in which what is false is left out
//   style    is an object of CSS properties, custom ones included
//   data     is an object of data attributes
//   on…      is a handler: onclick, oninput
//   key      names the element among its siblings, so that render finds it again
//   value, checked, indeterminate, disabled, open, hidden, selected are set as such
//
// and any other is an attribute; true is an empty one, and null, undefined or false
// is none. ARIA attributes write false as such. Children are nodes, texts, numbers or
// lists of them; null and false are left out.
export function h(tag, props, ...children) {
  const el = svgTags.has(tag) && tag !== 'title' && tag !== 'text' || props?.svg
    ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  el[handlers] = null;
  for (const [name, value] of Object.entries(props ?? {})) set(el, name, value);
  append(el, children);
  return el;
}

const live = new Set(['value', 'checked', 'indeterminate', 'disabled', 'open', 'hidden', 'selected']);

function set(el, name, value) {
  if (name === 'svg') return;
  if (name === 'class') {
    const text = Array.isArray(value) ? value.filter(Boolean).join(' ') : value;
    if (text) el.setAttribute('class', text);
  } else if (name === 'style') {
    for (const [property, v] of Object.entries(value)) {
      if (v !== null && v !== undefined) el.style.setProperty(property, String(v));
    }
  } else if (name === 'data') {
    for (const [key, v] of Object.entries(value)) if (v !== undefined && v !== null) el.dataset[key] = v;
  } else if (name === 'key') {
    if (value !== undefined && value !== null) el.dataset.key = value;
  } else if (name.startsWith('on')) {
    if (value) listen(el, name.slice(2), value);
  } else if (live.has(name) && name in el) {
    el[name] = value;
    if (name === 'value' && el.tagName === 'INPUT') el.setAttribute('value', value);
  } else if (name.startsWith('aria-') ? value !== undefined && value !== null : value !== undefined && value !== null && value !== false) {
    el.setAttribute(name, value === true && !name.startsWith('aria-') ? '' : value);
  }
}

// listen keeps the handler with the element and one dispatcher at the browser, so
// that render can exchange handlers.
function listen(el, type, handler) {
  el[handlers] ??= {};
  if (!(type in el[handlers])) el.addEventListener(type, dispatch);
  el[handlers][type] = handler;
}

function dispatch(event) { this[handlers]?.[event.type]?.call(this, event); }

function append(el, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === true) continue;
    el.append(child instanceof Node ? child : String(child));
  }
}

// clear takes everything out of an element.
export function clear(el) { el.replaceChildren(); }

// render makes the content of an element what is given, and changes only what is
// different: the focus, the selection and the scroll position stay where they are,
// and what is typed into a field is left alone. An element with the attribute
// data-keep belongs to other code and is not looked into. What is given is new: an
// element that is in the page already would be taken out of it, with the focus.
export function render(el, ...children) {
  const next = document.createDocumentFragment();
  append(next, children);
  const focus = document.activeElement;
  morphChildren(el, next);
  if (focus !== document.activeElement && el.contains(focus)) focus.focus({ preventScroll: true }); // what is moved loses it
}

// What is not wanted any more goes first, so that what is wanted need not be moved past it.
function morphChildren(el, next) {
  const keyed = new Map(), wanted = new Set();
  for (const child of next.children) wanted.add(child.dataset?.key);
  for (const child of [...el.children]) {
    const key = child.dataset?.key;
    if (key === undefined) continue;
    if (wanted.has(key)) keyed.set(key, child); else child.remove();
  }
  let at = el.firstChild;
  for (const child of [...next.childNodes]) {
    const key = child.dataset?.key;
    const known = key !== undefined ? keyed.get(key) : null;
    if (known && same(known, child)) {
      if (known !== at) el.insertBefore(known, at); else at = at.nextSibling;
      morph(known, child);
    } else if (key === undefined && at && same(at, child)) {
      const now = at;
      at = at.nextSibling;
      morph(now, child);
    } else {
      el.insertBefore(child, at);
    }
  }
  while (at) {
    const after = at.nextSibling;
    at.remove();
    at = after;
  }
}

function same(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && a.dataset?.key === b.dataset?.key
    && (a.nodeName !== 'INPUT' || a.type === b.type);
}

function morph(el, next) {
  if (el.nodeType === Node.TEXT_NODE) {
    if (el.data !== next.data) el.data = next.data;
    return;
  }
  if (el.dataset?.keep !== undefined) return;
  for (const { name, value } of [...next.attributes]) {
    if (name === 'value' && el.tagName === 'INPUT') continue;
    if (el.getAttribute(name) !== value) setAttribute(el, next, name, value);
  }
  for (const { name } of [...el.attributes]) {
    if (!next.hasAttribute(name) && !(name === 'open' && el.tagName === 'DETAILS')) el.removeAttribute(name);
  }
  el[handlers] ??= {};
  for (const type of Object.keys(el[handlers])) if (!next[handlers]?.[type]) el[handlers][type] = null;
  for (const [type, handler] of Object.entries(next[handlers] ?? {})) listen(el, type, handler);
  if (el.tagName !== 'TEXTAREA') morphChildren(el, next);
  properties(el, next);
}

// setAttribute copies an attribute. A style is copied through the object model, as
// the policy of the page allows no other.
function setAttribute(el, next, name, value) {
  if (name === 'style') el.style.cssText = next.style.cssText; else el.setAttribute(name, value);
}

// properties copies what is no attribute, but not into a field that is in use.
function properties(el, next) {
  const busy = el === document.activeElement;
  if ((el.tagName === 'INPUT' || el.tagName === 'SELECT' || el.tagName === 'TEXTAREA') && !busy && el.value !== next.value) el.value = next.value;
  if (el.tagName === 'INPUT' && (el.type === 'checkbox' || el.type === 'radio') && el.checked !== next.checked) el.checked = next.checked;
  if ('disabled' in el && el.disabled !== next.disabled) el.disabled = next.disabled;
}

// stacksFrom is how many columns a table has that is too wide for a telephone: there each
// row stands below the other, with the heads beside the cells.
const stacksFrom = 4;

// head is the head of a column. One that can be sorted by is a button: by says which column
// that is, with - before it if the greatest come first.
function head(column, { by, onsort }) {
  if (column.head === '') return h('span', { class: 'unseen' }, column.title ?? 'Marks');
  if (!column.sort || !onsort) return column.head;
  const down = `-${column.sort}`, order = column.down || (column.num && !column.up) ? [down, column.sort] : [column.sort, down];
  const at = order.indexOf(by), mark = at < 0 ? '' : by === down ? '▼' : '▲';
  return h('button', { type: 'button', class: 'sorts', title: `Sort by ${column.head}`, onclick: () => onsort(at === 1 ? '' : order[at + 1]) },
    column.head, h('span', { class: 'sort-mark', 'aria-hidden': 'true' }, mark));
}

function direction(column, by) {
  if (!column.sort) return null;
  return by === column.sort ? 'ascending' : by === `-${column.sort}` ? 'descending' : 'none';
}

// table makes a table. A column is { head, cell(row), num, class, title, sort, up, down }; a row
// is found again by key(row). With onrow a row can be chosen with the mouse, and the
// first cell should hold the link or the button for the keyboard. With sort, which is
// { by, onsort(by) }, columns that have the field sort are sorted by their heads: numbers
// begin with the greatest, unless up is set, and others do if down is. One that is compact never becomes a list.
export function table({ label, columns, rows, key, selected, onrow, sort = {}, compact = false, empty = 'Nothing here', class: classes }) {
  const cellClass = (column) => [column.num && 'num', column.class];
  const stacks = !compact && columns.length >= stacksFrom;
  return h('div', { class: ['table-wrap', classes], tabindex: 0, role: 'region', 'aria-label': label },
    h('table', { class: ['table', stacks && 'stacking'] },
      h('thead', null, h('tr', null, columns.map((c) => h('th', { scope: 'col', class: cellClass(c), title: c.title, 'aria-sort': direction(c, sort.by) }, head(c, sort))))),
      h('tbody', null,
        rows.length === 0 ? h('tr', { class: 'none' }, h('td', { colspan: columns.length }, empty)) : rows.map((row) => {
          const id = key ? String(key(row)) : undefined;
          return h('tr', {
            key: id,
            class: onrow && 'pick',
            'aria-current': selected !== undefined && selected === id ? 'true' : null,
            onclick: onrow && ((event) => { if (!event.target.closest('a,button,input,select')) onrow(row); }),
          }, columns.map((c) => h('td', { class: cellClass(c), data: stacks ? { head: c.head } : {} }, c.cell(row))));
        }))));
}

// pager shows which part of a list is seen and turns pages. The noun is that of several.
export function pager({ offset, limit, total, onpage, noun = 'rows' }) {
  if (!(total > limit) && !offset) return h('p', { class: 'pager quiet' }, `${total} ${total === 1 ? noun.slice(0, -1) : noun}`);
  const last = Math.min(offset + limit, total), count = (n) => n.toLocaleString('en-US');
  const to = (label, text, target, off) => h('button', { type: 'button', disabled: off, 'aria-label': label, onclick: () => onpage(target) }, text);
  return h('div', { class: 'pager' },
    to('First page', '«', 0, offset === 0),
    to('Previous page', '‹', Math.max(0, offset - limit), offset === 0),
    h('span', { class: 'tabular' }, `${count(total === 0 ? 0 : offset + 1)}–${count(last)} of ${count(total)} ${noun}`),
    to('Next page', '›', offset + limit, last >= total),
    to('Last page', '»', Math.max(0, Math.floor((total - 1) / limit) * limit), last >= total));
}

// virtualList shows a long list of rows of one height, of which only those in sight
// are elements. It returns { el, update({ count, row(i) }), reveal(i) }.
export function virtualList({ height, label, role = 'list', class: classes }) {
  let count = 0, row = () => null, queued = false;
  const body = h('div', { class: 'virtual-body', role });
  const el = h('div', { class: ['virtual', classes], data: { keep: '' } }, body);
  if (label) body.setAttribute('aria-label', label);
  const paint = () => {
    queued = false;
    const first = Math.max(0, Math.floor(el.scrollTop / height) - 8);
    const last = Math.min(count, Math.ceil((el.scrollTop + (el.clientHeight || 600)) / height) + 8);
    body.style.setProperty('height', `${count * height}px`);
    const rows = [];
    for (let i = first; i < last; i++) {
      const made = row(i);
      made.style.setProperty('transform', `translateY(${i * height}px)`);
      made.classList.add('virtual-row');
      rows.push(made);
    }
    render(body, rows);
  };
  const later = () => { if (!queued) { queued = true; requestAnimationFrame(paint); } };
  el.addEventListener('scroll', later, { passive: true });
  new ResizeObserver(later).observe(el);
  const reveal = (i) => {
    if (i * height < el.scrollTop) el.scrollTop = i * height;
    else if ((i + 1) * height > el.scrollTop + el.clientHeight) el.scrollTop = (i + 1) * height - el.clientHeight;
    paint();
  };
  // The browser scrolls to the focus with the next frame, but keys are faster: the next
  // one goes to the row below, which has to be there by then.
  body.addEventListener('focusin', ({ target }) => {
    reveal(Math.floor((target.getBoundingClientRect().top - body.getBoundingClientRect().top) / height));
  });
  return { el, reveal, update(next) { ({ count, row } = next); paint(); } };
}

// state is what a panel shows in place of data: kind is 'loading', 'empty' or 'error'.
export function state(kind, title, text, ...actions) {
  return h('div', { class: ['state', `state-${kind}`], role: kind === 'error' ? 'alert' : 'status' },
    h('div', { class: 'state-mark', 'aria-hidden': 'true' }),
    h('strong', null, title), text && h('p', null, text), actions);
}

// badge is a state in a word, with a shape that says the same as its colour: tone is
// 'good', 'warn', 'bad', 'info' or 'plain'.
export function badge(tone, text, title) { return h('span', { class: ['badge', `badge-${tone}`], title }, text); }

// bar is a horizontal bar. Its parts are [{ part: 0…, tone, label }], its marks
// [{ part, kind: 'guaranteed' | 'max' | 'fair', label }]; both are of the whole. The
// label says the same in words.
export function bar({ parts, marks = [], label }) {
  const width = (p) => `${Math.min(100, Math.max(0, p) * 100).toFixed(2)}%`;
  let from = 0;
  return h('div', { class: 'meter', role: 'img', 'aria-label': label, title: label },
    parts.filter((p) => p.part > 0).map((p) => {
      const left = from;
      from += p.part;
      return h('span', { class: ['meter-part', `fill-${p.tone}`], style: { left: width(left), width: width(Math.min(p.part, 1 - left)) } });
    }),
    marks.map((m) => h('span', { class: ['meter-mark', `mark-${m.kind}`], style: { left: width(m.part) } })));
}

// pairs is a list of names and values; those without a value are left out.
export function pairs(...list) {
  return h('dl', { class: 'pairs' }, list.filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false)
    .map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value))));
}
