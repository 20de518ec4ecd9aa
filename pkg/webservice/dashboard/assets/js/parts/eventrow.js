// One event as a row, and with all that is known of it.

import * as format from '../format.js';
import { badge, h, pairs } from '../dom.js';
import { changes, referenceType, sentenceOf, types, weightOf } from './eventwords.js';
import { applicationLink, askLink, copyButton, nodeLink, queueLink } from './links.js';
import { fewAmounts } from './kindchoice.js';
import { readable } from './words.js';

const tones = { preempted: 'warn', bad: 'bad', waits: 'info', '': 'plain' };

// eventRow is an event on one line, or on two where there is little room.
export function eventRow(ctx, event, { selected, onpick }) {
  const words = h('span', { class: 'event-words' }, sentence(ctx, event));
  return h('div', {
    key: event.id, role: 'listitem', class: ['event', selected && 'event-selected'], 'aria-current': selected ? 'true' : null,
    onclick: (e) => { if (!e.target.closest('a,button')) onpick(event); },
  },
  h('button', { type: 'button', class: 'event-time', title: `${format.date(event.timestampNano)}, number ${event.id}`, 'aria-label': `${format.time(event.timestampNano)}, details`, onclick: () => onpick(event) }, format.time(event.lastNano ?? event.timestampNano)),
  h('span', { class: 'event-type' }, badge(tones[weightOf(event)], typeName(event))),
  words,
  h('span', { class: 'event-amounts quiet' }, event.resource ? fewAmounts(amountsOf(event), '') : ''),
  h('span', { class: 'event-count', title: event.count > 1 ? 'How often it was said in a row' : null }, event.count > 1 ? `× ${format.count(event.count)}` : ''));
}

function typeName(event) { return types[event.type ?? 0]?.name ?? `type ${event.type}`; }

// sentence is an event in words, with links to all that it names.
function sentence(ctx, event) {
  const [before, after] = sentenceOf(event);
  return [objectLink(ctx, event), ` ${before}`, after !== undefined && [referenceLink(ctx, event), after],
    after === undefined && event.type === 1 && (event.eventChangeDetail ?? 0) === 501 && event.referenceID ? [' of ', referenceLink(ctx, event)] : null,
    event.message && h('span', { class: 'quiet' }, `: ${readable(event.message)}`)];
}

function objectLink(ctx, event) {
  const id = event.objectID ?? '';
  switch (event.type) {
    case 1: return askLink(ctx, referenceType(event) === 'application' ? event.referenceID : undefined, id);
    case 2: return applicationLink(ctx, id);
    case 3: return nodeLink(ctx, id);
    case 4: return queueLink(ctx, id);
    default: return h('strong', null, id);
  }
}

function referenceLink(ctx, event) {
  const id = event.referenceID ?? '';
  switch (referenceType(event)) {
    case 'node': return nodeLink(ctx, id);
    case 'application': return applicationLink(ctx, id);
    // Of an allocation on a node or in a queue the application is not said.
    default: return event.type === 2 ? askLink(ctx, event.objectID, id) : h('a', { href: ctx.link('events', [], { text: id }), title: 'Events about it' }, id);
  }
}

function amountsOf(event) {
  return Object.fromEntries(Object.entries(event.resource?.resources ?? {}).map(([kind, q]) => [kind, q.value]));
}

// eventDetails is the pane of an event.
export function eventDetails(ctx, event, close) {
  const [before, after] = sentenceOf(event);
  const text = `${event.objectID} ${before}${after !== undefined ? `${event.referenceID ?? ''}${after}` : ''}${event.message ? `: ${event.message}` : ''}`;
  return h('aside', { class: 'details', 'aria-label': 'Event' },
    h('div', { class: 'details-head' }, h('h2', null, `Event ${event.id}`),
      h('button', { type: 'button', class: 'icon', 'aria-label': 'Close the details', onclick: close }, '✕')),
    h('p', null, sentence(ctx, event)),
    pairs(
      ['When', format.date(event.timestampNano)],
      ['Said', event.count > 1 && `${format.count(event.count)} times in a row, last ${format.date(event.lastNano)}`],
      ['About', `${types[event.type ?? 0]?.of ?? 'something'} ${event.objectID ?? ''}`],
      ['Refers to', event.referenceID && [`${referenceType(event)} `, referenceLink(ctx, event)]],
      ...format.kinds(amountsOf(event)).map((kind) => [format.kindName(kind), format.amount(kind, amountsOf(event)[kind])]),
      ['In numbers', `type ${event.type ?? 0}, change ${event.eventChangeType ?? 0} (${changes[event.eventChangeType ?? 0] ?? 'unknown'}), detail ${event.eventChangeDetail ?? 0}`]),
    h('div', { class: 'toolbar' },
      h('a', { class: 'button', href: ctx.link('events', [], { text: event.objectID }) }, 'Only about it'),
      copyButton(ctx, 'Copy as text', () => `${format.date(event.timestampNano)} ${text}`)));
}
