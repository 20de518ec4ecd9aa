// The page around the panels: which one is shown, the refresh loop, the keyboard,
// the theme, the partition and the token.
//
// A panel is { id, title, mount(root, ctx) }. Mount returns { refresh(signal),
// unmount() } and may return route(), which is called when the address changes within
// the panel; without it refresh is called. Of ctx a panel uses
//
//   api           get, post, stream, path, twice
//   partition()   the name of the partition that is looked at, for paths
//   route()       { panel, parts, query }: #/nodes/node-1?zoom=2 is
//                 { panel: 'nodes', parts: ['node-1'], query }
//   link(panel, parts, query)   the address of that, for href
//   go(hash, replace)           goes there
//   now()         the time of the server in milliseconds
//   announce(text)              says something to readers of screens
//   refresh()     asks for a refresh at once
//   copy(text)    puts a text on the clipboard and says so
import { createApi, path, pause } from './api.js';
import { h, render, state } from './dom.js';
import { know } from './format.js';
import { askToken, createHelp, keyOf } from './dialogs.js';
import { createReplay } from './replay.js';
import overview from './panels/overview.js';
import queues from './panels/queues.js';
import nodes from './panels/nodes.js';
import applications from './panels/applications.js';
import preemption from './panels/preemption.js';
import events from './panels/events.js';
import changes from './panels/changes.js';
import whatif from './panels/whatif.js';
import users from './panels/users.js';
import doctor from './panels/doctor.js';

const panels = [overview, queues, nodes, applications, preemption, events, whatif, users, doctor, changes];

const everyMin = 2000; // milliseconds between refreshes
const staleAfter = 10000;

const byId = (id) => document.getElementById(id);
const root = byId('panel'), notice = byId('notice');

let skew = 0; // milliseconds that the server is ahead
let partitions = [], partitionsAt = 0;
let chosen = '';
let shown = null; // { panel, instance, abort }
let lastGood = 0; // when a refresh succeeded, performance.now()
let lastError = null;
let wake = () => {};

const api = createApi({
  askToken,
  seen(ms) {
    // The header has whole seconds: what is within is no difference.
    const off = ms - Date.now();
    skew = Math.abs(off) > 2000 ? off : 0;
  },
});

// Of a recording the moment can be moved, by any reader: what is shown is then read anew.
const replay = 'replay' in document.documentElement.dataset
  ? createReplay(byId('replay'), createApi({ askToken, base: new URL('.', document.baseURI) }), {
    moved() { partitionsAt = 0; if (shown) show(shown.panel); },
    failed,
  }) : null;

const ctx = {
  api,
  partition: () => chosen,
  route,
  link,
  go(hash, replace = false) {
    if (replace) { history.replaceState(null, '', hash); arrive(); } else location.hash = hash;
  },
  now: () => Date.now() + skew,
  announce(text) { byId('announcer').textContent = text; },
  refresh: () => wake(),
  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      ctx.announce('Copied');
      return true;
    } catch {
      ctx.announce('Copying is not allowed here');
      return false;
    }
  },
};

function route() {
  const [where, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const parts = where.split('/').filter((p) => p !== '').map(decoded);
  return { panel: parts[0] ?? '', parts: parts.slice(1), query: new URLSearchParams(query) };
}

function decoded(text) { try { return decodeURIComponent(text); } catch { return text; } }

function link(panel, parts = [], query = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of query instanceof URLSearchParams ? query : Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') params.set(name, value);
  }
  const text = params.toString();
  return `#/${path(panel, ...parts)}${text ? `?${text}` : ''}`;
}

// Panels and addresses.

function arrive() {
  const at = route();
  const panel = panels.find((p) => p.id === at.panel) ?? panels[0];
  const asked = at.query.get('partition');
  if (asked && partitions.some((p) => p.name === asked) && asked !== chosen) choose(asked);
  if (shown?.panel === panel) {
    if (shown.instance.route) guarded(() => shown.instance.route()); else wake();
  } else {
    show(panel);
  }
}

function show(panel) {
  leave();
  document.title = `${panel.title} · Narwhal`;
  render(byId('nav'), panels.map((p, i) => h('a', {
    key: p.id, href: link(p.id), class: 'tab', 'aria-current': p === panel ? 'page' : null, 'aria-keyshortcuts': keyOf(i),
  }, p.title, h('kbd', { 'aria-hidden': 'true' }, keyOf(i)))));
  // On a narrow screen the row of panels scrolls by itself.
  const tab = byId('nav').querySelector('[aria-current]');
  byId('nav').scrollLeft = tab.offsetLeft - byId('nav').offsetLeft - 40;
  root.replaceChildren();
  root.dataset.panel = panel.id;
  root.setAttribute('aria-label', panel.title);
  root.scrollTop = 0;
  window.scrollTo(0, 0);
  if (!chosen) {
    render(root, state('loading', 'Reading the partitions', 'One moment.'));
    shown = { panel, instance: { refresh() {}, unmount() {}, route() {} }, abort: new AbortController(), waiting: true };
    wake();
    return;
  }
  shown = { panel, instance: { refresh() {}, unmount() {} }, abort: new AbortController() };
  guarded(() => { shown.instance = panel.mount(root, ctx); });
  freshness('loading');
  wake();
}

function leave() {
  if (!shown) return;
  shown.abort.abort();
  const { instance } = shown;
  shown = null;
  guarded(() => instance.unmount?.());
}

function guarded(run) { try { run(); } catch (err) { failed(err); } }

// The refresh loop: one refresh at a time, none while the page is hidden, and fewer if
// answers take long.

async function loop() {
  for (;;) {
    if (document.hidden) await new Promise((resolve) => { wake = resolve; });
    const began = performance.now();
    await once();
    const took = performance.now() - began;
    await waitFor(Math.max(everyMin, took * 4));
  }
}

function waitFor(ms) {
  const waiting = new AbortController();
  wake = () => waiting.abort();
  return pause(ms, waiting.signal);
}

async function once() {
  try { await replay?.read(); } catch { /* the panel cannot be read either, and says so */ }
  const now = shown;
  // A refresh that is asked for while one is under way follows at once.
  let again = false;
  wake = () => { again = true; };
  try {
    if (!chosen || performance.now() - partitionsAt > 30000) await readPartitions();
    if (now && !now.waiting) await now.instance.refresh(now.abort.signal);
    if (now === shown) {
      lastGood = performance.now();
      lastError = null;
      succeeded();
    }
  } catch (err) {
    if (now === shown && err?.name !== 'AbortError') failed(err);
  }
  if (again) return once();
}

function failed(err) {
  lastError = err;
  if (err.status === undefined) console.error(err);
  const token = err.status === 401;
  notice.hidden = false;
  render(notice, h('span', { class: 'badge badge-bad' }, err.status === 0 ? 'No connection' : token ? 'Locked' : 'Error'),
    h('span', null, err.message, err.status === 0 && lastGood ? '. What you see is the last that was read; trying again.' : ''),
    token && h('button', { type: 'button', onclick: () => { api.forgetToken(); wake(); } }, 'Enter a token'));
  freshness();
}

function succeeded() {
  notice.hidden = true;
  freshness();
}

function freshness(forced) {
  const chip = byId('freshness'), age = performance.now() - lastGood;
  const old = `${Math.round(age / 1000)} s old`;
  let now = ['live', replay ? 'recorded' : 'live'];
  if (lastError) now = ['bad', lastGood ? old : 'no data'];
  else if (forced === 'loading' || !lastGood) now = ['loading', 'loading'];
  else if (age > staleAfter) now = ['stale', old];
  chip.dataset.state = now[0];
  byId('freshness-text').textContent = now[1];
}

// Partitions.

async function readPartitions() {
  const { data } = await api.get('partitions', { params: { fields: 'clusterId,name' } });
  partitionsAt = performance.now();
  const twins = (name) => data.filter((p) => p.name === name).length > 1;
  partitions = data.map((p) => ({ name: twins(p.name) ? `[${p.clusterId}]${p.name}` : p.name }));
  byId('partition-label').hidden = partitions.length < 2;
  if (partitions.length === 0) {
    render(root, state('empty', 'There is no partition yet', 'A resource manager brings them when it registers.'));
    return;
  }
  const wanted = route().query.get('partition') ?? chosen;
  const now = partitions.find((p) => p.name === wanted) ?? partitions.find((p) => p.name === 'default') ?? partitions[0];
  await readKinds(now.name);
  if (now.name !== chosen) choose(now.name);
  render(byId('partition'), partitions.map((p) => h('option', { value: p.name, selected: p.name === chosen }, p.name)));
  byId('partition').value = chosen;
}

// readKinds learns which kinds there are, and which of them matter most.
async function readKinds(name) {
  const { data } = await api.get(path('partition', name, 'summary'), { params: { fields: 'kinds' } });
  know(data.kinds.map((kind) => kind.name));
}

function choose(name) {
  if (chosen !== '' && chosen !== name) partitionsAt = 0; // another has other kinds
  chosen = name;
  if (shown) show(shown.panel);
}

// The keyboard. Keys with modifiers and keys in fields are left to the browser.

const help = createHelp(panels);

function pressed(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest('input:not([type=checkbox],[type=radio]),select,textarea,[contenteditable]');
  if (event.key === 'Escape' && typing) { event.target.blur(); root.focus({ preventScroll: true }); return; }
  if (typing || document.querySelector('dialog[open]')) return;
  const chosen = panels.findIndex((_, i) => keyOf(i) === event.key);
  if (chosen >= 0) location.hash = link(panels[chosen].id);
  else if (event.key === '/') focusSearch();
  else if (event.key === '?') help.open();
  else if (event.key === 't') nextTheme();
  else if (event.key === 'r') wake();
  else return;
  event.preventDefault();
}

function focusSearch() {
  const field = root.querySelector('input[type=search]');
  if (field) { field.focus(); field.select(); } else ctx.announce('There is nothing to search in this panel');
}

const themes = { auto: ['◐', 'as the system'], dark: ['☾', 'dark'], light: ['☀', 'light'] };

function theme() { return document.documentElement.dataset.theme ?? 'auto'; }

function nextTheme() {
  const names = Object.keys(themes);
  const next = names[(names.indexOf(theme()) + 1) % names.length];
  if (next === 'auto') delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = next;
  try { localStorage.setItem('narwhal.theme', next); } catch { /* it lasts as long as the page */ }
  showTheme();
  ctx.announce(`Theme: ${themes[next][1]}`);
  // What is painted on a canvas asks for its colours again.
  window.dispatchEvent(new CustomEvent('themechange'));
}

function showTheme() {
  const [mark, words] = themes[theme()];
  byId('theme').textContent = mark;
  byId('theme').setAttribute('aria-label', `Theme: ${words}. Press for the next`);
}

byId('theme').addEventListener('click', nextTheme);
byId('help-open').addEventListener('click', () => help.open());
byId('freshness').addEventListener('click', () => wake());
byId('partition').addEventListener('change', (event) => { choose(event.target.value); root.focus(); });
byId('skip').addEventListener('click', (event) => { event.preventDefault(); root.focus(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => window.dispatchEvent(new CustomEvent('themechange')));
document.addEventListener('keydown', pressed);
document.addEventListener('visibilitychange', () => { if (!document.hidden) wake(); });
window.addEventListener('hashchange', arrive);
setInterval(freshness, 1000);

showTheme();
arrive();
loop();
