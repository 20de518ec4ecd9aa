// Changes: what an operator or the surroundings changed, the newest first. Of a time it shows the events too.
//
//   #/changes?kind=…&from=…&to=…&offset=…
import * as format from '../format.js';
import { badge, h, pager, render, state, table } from '../dom.js';
import { createFilters, offsetOf } from '../parts/filters.js';
import { eventRow } from '../parts/eventrow.js';
import { nodeLink, queueLink } from '../parts/links.js';
import { minuteOf, spanOf, spanText } from '../parts/moments.js';
import { capital, readable } from '../parts/words.js';

const rowsMax = 50, eventsMax = 50;
const tones = { start: 'info', configuration: 'warn', nodes: 'plain', preemptions: 'bad' };

export default {
  id: 'changes',
  title: 'Changes',
  mount(root, ctx) {
    const filters = createFilters(ctx, 'changes');
    render(root, state('loading', 'Reading what changed', 'One moment.'));

    async function refresh(signal) {
      const { query } = ctx.route(), span = spanOf(query), offset = offsetOf(query);
      const asked = ctx.api.get(ctx.api.path('partition', ctx.partition(), 'changes'), { params: { ...span, kind: query.get('kind'), limit: rowsMax, offset }, signal });
      const events = span.from && span.to ? readEvents(span, signal) : null;
      const [{ data, total }, happened] = await Promise.all([asked, events]);
      render(root,
        h('div', { class: 'toolbar' }, h('h1', null, 'Changes'), h('span', { class: 'quiet' }, spanText(span)), h('span', { class: 'grow' }),
          (span.from || span.to) && h('a', { class: 'button', href: ctx.link('changes', [], { kind: query.get('kind') }) }, 'All times')),
        h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Filter' }, filters.fields(
          { name: 'kind', kind: 'select', label: 'What changed', options: [['', 'All changes'], ['configuration', 'Configuration'], ['nodes', 'Nodes'], ['start', 'Starts'], ['preemptions', 'Preemptions']] },
          { name: 'from', kind: 'time', label: 'From' }, { name: 'to', kind: 'time', label: 'Until' })),
        h('section', { class: 'card', 'aria-label': 'What changed' },
          data.length === 0 ? state('empty', 'Nothing changed', span.from || span.to ? 'No change of that time is kept.' : 'Starts, configurations, nodes and preemptions appear here.')
            : [list(data), pager({ offset, limit: rowsMax, total, onpage: filters.page, noun: 'changes' })]),
        happened && eventsCard(happened, span));
    }

    async function readEvents(span, signal) {
      const { data } = await ctx.api.get('events/batch', { params: { ...span, count: eventsMax }, signal, accept: [404, 503] });
      const records = data.EventRecords ?? [];
      if (records.length > 0 || !data.HighestID) return { records };
      const { data: first } = await ctx.api.get('events/batch', { params: { start: data.LowestID, count: 1 }, signal });
      return { records, oldest: first.EventRecords?.[0]?.timestampNano };
    }

    function list(changes) {
      return table({
        label: 'Changes, the newest first', key: (c) => `${c.time} ${c.kind} ${c.summary}`, rows: changes, compact: true,
        columns: [
          { head: 'Time', cell: (c) => h('a', { href: ctx.link('changes', [], minuteOf(c.time)), title: 'All of this minute' }, format.date(c.time)) },
          { head: 'What', cell: (c) => badge(tones[c.kind] ?? 'plain', capital(c.kind)) },
          { head: 'Change', class: 'grow', cell: (c) => change(c) },
        ],
      });
    }

    function change(c) {
      const nodes = (c.nodes ?? []).map((id, i) => [i > 0 && ', ', nodeLink(ctx, id)]);
      const [words] = c.nodes ? c.summary.split(':') : [c.summary];
      return [h('div', { class: 'change-words' }, withQueue(capital(readable(words)), c.queueName), nodes.length > 0 && [': ', nodes],
        c.nodes && c.count > c.nodes.length ? ' and others' : null),
      c.lines && h('ul', { class: 'change-lines' }, c.lines.map((line) => h('li', null, line)))];
    }

    // withQueue is words in which the name of a queue leads to it.
    function withQueue(words, queue) {
      const at = queue ? words.indexOf(queue) : -1;
      return at < 0 ? words : [words.slice(0, at), queueLink(ctx, queue), words.slice(at + queue.length)];
    }

    function eventsCard({ records, oldest }, span) {
      const open = (event) => ctx.go(ctx.link('events', [], { ...span, text: event.objectID }));
      const gone = oldest ? `The oldest event that is kept is of ${format.date(oldest)}.` : 'No event of this time is kept.';
      return h('section', { class: 'card', 'aria-label': 'Events of this time' },
        h('div', { class: 'card-head' }, h('h2', null, 'Events of this time'), records.length > 0 && h('a', { href: ctx.link('events', [], span) }, 'feed')),
        records.length === 0 ? h('p', { class: 'quiet' }, gone)
          : h('div', { class: 'events-then', role: 'list', 'aria-label': 'Events of this time' }, records.map((event) => eventRow(ctx, event, { selected: false, onpick: open }))),
        records.length === eventsMax && h('p', { class: 'pager quiet' }, `The first ${eventsMax}`));
    }

    return { refresh, unmount() { filters.stop(); } };
  },
};
