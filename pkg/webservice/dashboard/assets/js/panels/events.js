// Events: a live feed of what happens, the newest first, or what happened within some time.
//
//   #/events?text=…&types=2,3&only=marked&from=…&to=…
import * as format from '../format.js';
import { badge, h, render, state, virtualList } from '../dom.js';
import { types, weightOf } from '../parts/eventwords.js';
import { createBook } from '../parts/eventbook.js';
import { createFilters } from '../parts/filters.js';
import { eventDetails, eventRow } from '../parts/eventrow.js';
import { spanOf, spanText } from '../parts/moments.js';

const recent = 5000; // events of before that are asked for
const paintEvery = 300; // milliseconds
const filterTypes = [2, 1, 3, 4, 5];

export default { id: 'events', title: 'Events', mount };

function mount(root, ctx) {
  const book = createBook(), abort = new AbortController(), filters = createFilters(ctx, 'events');
  const narrow = matchMedia('(max-width: 700px)');
  const feed = h('div', { class: 'feed-slot', data: { keep: '' } });
  let list = null, timer = 0;
  let connection = 'opening', trouble = null; // of the stream
  let paused = false, frozen = null, fresh = 0; // frozen is what is shown while it does not move
  let chosen = null; // the event with its details
  let past = null; // { key, book } if a time is chosen

  const events = () => past?.book ?? book;

  // then reads the events of the time that is chosen.
  async function then(signal) {
    const span = spanOf(ctx.route().query), key = JSON.stringify(span);
    if (!span.from && !span.to) { if (past) { past = null; paint(); } return; }
    if (past?.key === key) return;
    const { data } = await ctx.api.get('events/batch', { params: { ...span, count: recent }, signal });
    past = { key, book: createBook(), span };
    for (const event of data.EventRecords ?? []) past.book.add(event);
    frozen = null;
    paint();
  }

  function makeList() {
    list = virtualList({ height: narrow.matches ? 58 : 32, label: 'Events, the newest first', class: 'feed' });
    list.el.tabIndex = 0;
    list.el.setAttribute('aria-label', 'Events, the newest first');
    list.el.addEventListener('scroll', () => { if (list.el.scrollTop === 0 && frozen && !paused) later(); }, { passive: true });
    list.el.addEventListener('focusout', () => { if (frozen && !paused) later(); });
    feed.replaceChildren(list.el);
  }

  function chosenTypes() {
    return new Set((ctx.route().query.get('types') ?? '').split(',').filter((t) => /^\d$/.test(t)).map(Number));
  }

  function wanted() {
    const { query } = ctx.route();
    const marked = query.get('only') === 'marked' ? (event) => weightOf(event) !== '' : null;
    return { types: chosenTypes(), text: query.get('text') ?? '', marked };
  }

  function take(event) {
    book.add(event);
    if (frozen) fresh++;
    later();
  }

  // Once another panel is shown there is nothing to paint: the stream is told to end then, and says that it did.
  function later() { if (!abort.signal.aborted) timer ||= setTimeout(() => { timer = 0; paint(); }, paintEvery); }

  // paint shows the latest events, or those that were there when the feed was halted:
  // by the button, or because the reader scrolled down to look at something, or went
  // into a row: it must not go away below the focus.
  function paint() {
    const reading = list.el.scrollTop > 0 || list.el.querySelector(':focus') !== null;
    if (!paused && !reading) { frozen = null; fresh = 0; }
    const now = frozen ?? events().pick(wanted());
    if (paused || reading) frozen = now;
    const { found, more } = now;
    render(root, toolbar(), fields(), trouble && book.size() === 0 ? broken()
      : found.length === 0 ? nothing() : null,
    h('div', { class: ['split', chosen && 'has-details'], hidden: found.length === 0 }, h('div', { class: 'card feed-card' }, feed, foot(found.length, more)),
      chosen && eventDetails(ctx, chosen, () => { chosen = null; paint(); })));
    list.update({ count: found.length, row: (i) => eventRow(ctx, found[i], { selected: found[i] === chosen, onpick: pick }) });
  }

  function pick(event) {
    chosen = event === chosen ? null : event;
    paint();
  }

  function toolbar() {
    const [tone, text] = past ? ['info', spanText(past.span)] : paused ? ['info', 'paused'] : { open: ['good', 'live'], opening: ['plain', 'opening'], lost: ['bad', 'not connected'], closed: ['plain', 'closed'] }[connection];
    return h('div', { class: 'toolbar' }, h('h1', null, 'Events'), badge(tone, text), h('span', { class: 'grow' }),
      past && h('a', { class: 'button', href: ctx.link('events', [], { text: ctx.route().query.get('text') }) }, 'Live'),
      fresh > 0 && !past && h('button', { type: 'button', class: 'plain', onclick: toTop }, `${format.count(fresh)} new`),
      !past && h('button', { type: 'button', key: 'pause', 'aria-pressed': paused ? 'true' : 'false', onclick: togglePause }, paused ? 'Resume' : 'Pause'));
  }

  function togglePause() {
    paused = !paused;
    if (paused) frozen = events().pick(wanted()); else toTop();
    ctx.announce(paused ? 'Events are paused' : 'Events go on');
    paint();
  }

  function toTop() {
    paused = false;
    list.el.scrollTop = 0;
    paint();
  }

  function fields() {
    const now = chosenTypes();
    const toggle = (type) => () => {
      const next = new Set(now);
      if (!next.delete(type)) next.add(type);
      filters.change({ types: [...next].sort().join(',') });
    };
    return h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Filter' },
      h('div', { class: 'reasons', role: 'group', 'aria-label': 'What it is about' }, filterTypes.map((type) => h('button', {
        type: 'button', class: 'reason', 'aria-pressed': now.has(type) ? 'true' : 'false', onclick: toggle(type),
      }, `${types[type].name}s`))),
      filters.fields(
        { name: 'text', kind: 'search', label: 'Name or words' },
        { name: 'only', kind: 'select', label: 'Severity', options: [['', 'All events'], ['marked', 'Waiting, evicted, failed']] }));
  }

  function nothing() {
    if (connection === 'opening') return state('loading', 'Opening the stream', 'One moment.');
    if (past && past.book.size() === 0) return state('empty', 'No event of that time is kept', 'It is too long ago, or nothing happened.', h('a', { class: 'button', href: ctx.link('events') }, 'Show the latest'));
    if (events().size() > 0) {
      return state('empty', 'No event is like that', `None of the last ${format.count(events().size())} fits all that is chosen above.`,
        h('a', { class: 'button', href: ctx.link('events') }, 'Show all'));
    }
    return state('empty', 'Nothing has happened yet', 'What happens appears here at once.');
  }

  function broken() {
    return trouble.status === 503 ? state('empty', 'There are no events', `${trouble.message}.`)
      : state('error', 'The events cannot be read', trouble.message);
  }

  function foot(shown, more) {
    return h('p', { class: 'pager quiet' }, more ? `The latest ${format.count(shown)} that fit` : format.plural(shown, 'event'),
      past ? ` of that time` : `, of the last ${format.count(book.size())}`);
  }

  function route() {
    frozen = null;
    if (list.el.scrollTop > 0) list.el.scrollTop = 0;
    if (paused) frozen = events().pick(wanted());
    paint();
    ctx.refresh();
  }

  function escape(event) {
    if (event.key !== 'Escape' || !chosen || event.target.closest('input,select') || document.querySelector('dialog[open]')) return;
    chosen = null;
    paint();
  }

  const relist = () => { makeList(); paint(); };
  narrow.addEventListener('change', relist);
  document.addEventListener('keydown', escape);
  makeList();
  paint();
  ctx.api.stream('events/stream', take, abort.signal, {
    params: { count: recent },
    onState(now, err) { connection = now; trouble = now === 'lost' ? err : null; later(); },
  });
  return {
    route,
    async refresh(signal) {
      await then(signal);
      if (trouble && trouble.status !== 503) throw trouble;
    },
    unmount() {
      abort.abort();
      clearTimeout(timer);
      filters.stop();
      narrow.removeEventListener('change', relist);
      document.removeEventListener('keydown', escape);
    },
  };
}
