// What a what-if does to nodes: some come, some are drained, some are gone.

import { readAmount, writeAmount } from './amounts.js';

// emptyNodes is no change of nodes.
export function emptyNodes() { return { add: '', drain: '', remove: '' }; }

// readNodes makes that part of a question, undefined if nothing is filled in; wrong is
// called with the field and what is wrong with it.
export function readNodes(form, wrong) {
  const names = (text) => text.split(/[\s,]+/).filter((name) => name !== '');
  const nodes = {};
  const add = form.add.split(/[;\n]+/).map((text) => text.trim()).filter((text) => text !== '').map((text) => readNew(text, (problem) => wrong('add', problem)));
  if (add.length > 0) nodes.add = add;
  if (names(form.drain).length > 0) nodes.drain = names(form.drain);
  if (names(form.remove).length > 0) nodes.remove = names(form.remove);
  return Object.keys(nodes).length > 0 ? nodes : undefined;
}

// readNew reads "gpu:2:vcore=16,memory=64Gi" as narwhal whatif --add-node does.
function readNew(text, wrong) {
  const m = /^([^:]+?)\s*(?::\s*(\d+)\s*)?:([^:]*)$/.exec(text);
  const node = { nodeId: m?.[1] ?? text, capacity: {} };
  if (m?.[2]) node.count = Number(m[2]);
  if (!m) { wrong('Write a name, how many and what each has: big:2:vcore=16,memory=64Gi.'); return node; }
  for (const one of m[3].split(',').map((part) => part.trim()).filter((part) => part !== '')) {
    const at = one.indexOf('='), name = one.slice(0, Math.max(at, 0)).trim();
    const kind = name === 'cpu' ? 'vcore' : name, value = readAmount(kind, one.slice(at + 1));
    if (at < 1 || value === null) wrong(`${one} is no amount of a kind, as vcore=16 is.`);
    else node.capacity[kind] = value;
  }
  if (m[3].trim() === '') wrong('Say what each has, as in big:2:vcore=16,memory=64Gi.');
  return node;
}

// writeNodes is a change of nodes as it would be filled in.
export function writeNodes(nodes = {}) {
  const one = ({ nodeId, count, capacity = {} }) => [nodeId, count, Object.entries(capacity).map(([kind, value]) => `${kind}=${writeAmount(kind, value)}`).join(',')]
    .filter((part) => part !== undefined && part !== 0).join(':');
  return { add: (nodes.add ?? []).map(one).join('; '), drain: (nodes.drain ?? []).join(', '), remove: (nodes.remove ?? []).join(', ') };
}
