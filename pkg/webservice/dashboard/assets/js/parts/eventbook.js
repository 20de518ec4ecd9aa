// The events that are kept in the page: the latest ones, the newest first.

const keptMax = 5000; // events that are searched
const shownMax = 500; // events that are shown at once

// createBook makes a book of events. add takes an event, or a new count of one that is
// there. pick returns the latest that are like what is asked for: { types, text, marked },
// where types is a set of numbers, empty for all, and marked(event) may leave some out.
export function createBook() {
  let entries = []; // the oldest first
  let byId = new Map();

  function add(event) {
    const known = byId.get(event.id);
    if (known) {
      Object.assign(known.event, event);
      return;
    }
    const entry = { event, words: null };
    entries.push(entry);
    byId.set(event.id, entry);
    if (entries.length > keptMax * 1.2) forget(entries.length - keptMax);
  }

  function forget(n) {
    for (const { event } of entries.slice(0, n)) byId.delete(event.id);
    entries = entries.slice(n);
  }

  function pick({ types, text, marked }) {
    const wanted = text.toLowerCase(), found = [];
    let more = false;
    for (let i = entries.length - 1; i >= 0; i--) {
      const entry = entries[i], { event } = entry;
      if (types.size > 0 && !types.has(event.type ?? 0)) continue;
      if (marked && !marked(event)) continue;
      if (wanted !== '') {
        entry.words ??= `${event.objectID ?? ''} ${event.referenceID ?? ''} ${event.message ?? ''}`.toLowerCase();
        if (!entry.words.includes(wanted)) continue;
      }
      if (found.length === shownMax) { more = true; break; }
      found.push(event);
    }
    return { found, more };
  }

  return {
    add, pick,
    size: () => entries.length,
    clear() { entries = []; byId = new Map(); },
  };
}
