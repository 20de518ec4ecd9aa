// What is due to queues, measured as the scheduler does it.

import { kinds } from '../format.js';

// walk visits a queue and all below, parents first, with its depth and with what its
// use is measured against where nothing is guaranteed: its max, or that of the nearest
// queue above, or what the partition has.
export function walk(queue, visit, depth = 0, above = {}) {
  const fair = { ...above };
  for (const [kind, n] of Object.entries(queue.maxResource ?? {})) if (n > 0) fair[kind] = n;
  visit(queue, depth, fair);
  for (const child of queue.children ?? []) walk(child, visit, depth + 1, fair);
}

// due is what use of a kind is measured against; undefined if by nothing.
export function due(queue, fair, kind) {
  const guaranteed = queue.guaranteedResource?.[kind] ?? 0;
  return guaranteed > 0 ? guaranteed : fair[kind];
}

// share is the greatest part that a queue uses of what is due to it: { kind, part }.
export function share(queue, fair) {
  let most = { kind: '', part: 0 };
  for (const kind of kinds(queue.allocatedResource)) {
    const whole = due(queue, fair, kind);
    if (whole === undefined) continue;
    const part = whole > 0 ? queue.allocatedResource[kind] / whole : 1;
    if (part > most.part) most = { kind, part };
  }
  return most;
}

// nameOf is the last part of the path of a queue.
export function nameOf(path) { return path.slice(path.lastIndexOf('.') + 1); }
