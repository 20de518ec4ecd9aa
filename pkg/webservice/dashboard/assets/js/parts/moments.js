// Spans of time as they stand in addresses, and the minute of a moment.

import * as format from '../format.js';

const minute = 60e9; // nanoseconds

const iso = (nanos) => new Date(nanos / 1e6).toISOString();

// minuteOf is the minute of a moment, or, if moments are farther apart than that, all minutes for which it stands.
export function minuteOf(at, step = 0) {
  const half = step > minute ? step / 2 : 0;
  return { from: iso(Math.floor((at - half) / minute) * minute), to: iso((Math.floor((at + half) / minute) + 1) * minute) };
}

// spanOf is the span that an address has; either end may be empty.
export function spanOf(query) { return { from: query.get('from') ?? '', to: query.get('to') ?? '' }; }

const nanosOf = (text) => (/^\d+$/.test(text) ? Number(text) : Date.parse(text) * 1e6);

// spanText is a span for people.
export function spanText({ from, to }) {
  const words = [from && `from ${format.date(nanosOf(from))}`, to && `until ${format.date(nanosOf(to))}`];
  return words.filter(Boolean).join(' ');
}

// localOf is a time of an address as a field for times has it, and addressOf the other way.
export function localOf(text) {
  const at = new Date(nanosOf(text) / 1e6);
  if (text === '' || Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}

export function addressOf(local) { return local === '' ? '' : new Date(local).toISOString(); }
