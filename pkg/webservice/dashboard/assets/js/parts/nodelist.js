// Nodes as the map shows them: measured, picked, ordered and put in groups.

import * as format from '../format.js';

// listed is what the map reads of each node.
export const listed = 'nodeID,capacity,allocated,occupied,nominated,daemonSets,schedulable,isReserved,nominations,evictions,allocationCount';

const attributesMax = 24; // attributes to choose from
const valuesMax = 100; // of an attribute that is worth a group for each

// states are what can be picked, and which nodes are meant.
export const states = {
  schedulable: ['Schedulable', (n) => n.schedulable],
  drained: ['Drained', (n) => !n.schedulable],
  reserved: ['Reserved', (n) => n.isReserved],
  nominated: ['Room is being made', (n) => (n.nominations?.length ?? 0) > 0],
  evicting: ['With evictions', (n) => (n.evictions?.length ?? 0) > 0],
  over: ['Over capacity', (n) => format.share(format.plus(n.allocated, n.occupied), n.capacity).part > 1],
  empty: ['Without own allocations', (n) => !n.allocationCount],
};

// orders are the ways to sort; nodes that are alike stand by name.
export const orders = { '': 'By name', fullest: 'Fullest first', emptiest: 'Emptiest first', count: 'Most allocations first' };

// measure is what a cell shows of a node, for a kind or for the one that is used most:
// the parts of its capacity that foreign pods, daemonsets and all others use and that
// are nominated. Has says whether the node has anything of the kind.
export function measure(node, kind) {
  const used = format.plus(node.allocated, node.occupied);
  const of = kind || format.share(used, node.capacity).kind;
  const capacity = node.capacity?.[of] ?? 0;
  const part = (n) => format.part(n, capacity);
  const daemon = node.daemonSets?.[of] ?? 0, own = (node.allocated?.[of] ?? 0) - daemon;
  return {
    kind: of, has: capacity > 0 || used[of] > 0, use: part(used[of]),
    foreign: part(node.occupied?.[of]), daemon: part(daemon), own: part(own), nominated: part(node.nominated?.[of]),
  };
}

// natural is a name for comparing, so that node-2 comes before node-10.
function natural(name) { return name.replace(/\d+/g, (digits) => digits.padStart(12, '0')); }

// entriesOf measures nodes: [{ node, id, short, sort, m, attributes }]. Short is the name
// without its domain, if all are different without.
export function entriesOf(nodes, kind, attributes) {
  const hosts = new Set(nodes.map((node) => node.nodeID.split('.')[0]));
  const shorter = hosts.size === nodes.length;
  return nodes.map((node) => {
    const id = node.nodeID;
    return { node, id, short: shorter ? id.split('.')[0] : id, sort: natural(id), m: measure(node, kind), attributes: attributes.get(id) ?? {} };
  });
}

// picked are the entries that have a text in their name or in an attribute, as
// name=value, and are in a state.
export function picked(entries, text, state) {
  const fits = states[state]?.[1];
  const wanted = text.toLowerCase();
  return entries.filter((e) => (!fits || fits(e.node)) && (wanted === '' || e.id.toLowerCase().includes(wanted)
    || Object.entries(e.attributes).some(([name, value]) => `${name}=${value}`.toLowerCase().includes(wanted))));
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

const comparisons = {
  '': () => 0,
  fullest: (a, b) => b.m.use - a.m.use,
  emptiest: (a, b) => a.m.use - b.m.use,
  count: (a, b) => (b.node.allocationCount ?? 0) - (a.node.allocationCount ?? 0),
};

function sorted(entries, order) {
  const first = comparisons[order] ?? comparisons[''];
  return [...entries].sort((a, b) => first(a, b) || compare(a.sort, b.sort));
}

const bands = [[1.0000001, 'over 100 %'], [0.95, '95 to 100 %'], [0.8, '80 to 95 %'], [0.5, '50 to 80 %'], [0.0000001, 'below 50 %'], [-1, 'not used']];

// Each way to group says in which group an entry is, and in what order groups stand.
const groupings = {
  name: (e) => { const name = e.id.split('.')[0].replace(/[-_]?[^-_]*$/, '') || e.id; return [natural(name), name]; },
  size: (e) => { const size = format.amounts(e.node.capacity); return [natural(size), size]; },
  use: (e) => { const i = bands.findIndex(([least]) => e.m.use >= least); return [String(i), bands[i][1]]; },
  state: (e) => (!e.node.schedulable ? ['0', 'drained'] : e.node.evictions?.length ? ['1', 'with evictions'] : e.node.isReserved ? ['2', 'reserved'] : ['3', 'schedulable']),
};

const attributePrefix = 'attribute:';

function grouping(by) {
  if (!by.startsWith(attributePrefix)) return groupings[by];
  const name = by.slice(attributePrefix.length);
  return (e) => (e.attributes[name] === undefined ? ['~', `without ${name}`] : [natural(e.attributes[name]), `${name} ${e.attributes[name]}`]);
}

const partsMax = 24; // groups by name that are still easy to see

// groupingOf is the grouping of a choice: without one, nodes are grouped by name if
// that makes a few groups.
export function groupingOf(choice, entries) {
  if (choice !== '') return choice;
  const names = new Set();
  for (const e of entries) {
    names.add(groupings.name(e)[1]);
    if (names.size > partsMax) return 'none';
  }
  return names.size > 1 && names.size <= entries.length / 2 ? 'name' : 'none';
}

// grouped puts entries in order and in groups: [{ label, entries }]. Without a
// grouping there is one, without a label.
export function grouped(entries, order, by) {
  const all = sorted(entries, order);
  const of = grouping(by);
  if (!of) return [{ label: '', entries: all }];
  const groups = new Map();
  for (const e of all) {
    const [sort, label] = of(e);
    if (!groups.has(label)) groups.set(label, { sort, label, entries: [] });
    groups.get(label).entries.push(e);
  }
  return [...groups.values()].sort((a, b) => compare(a.sort, b.sort));
}

// groupOptions are the ways to group these nodes: [value, text]. An attribute whose
// values are nearly as many as the nodes puts nothing together.
export function groupOptions(attributes) {
  const values = new Map();
  for (const of of attributes.values()) {
    for (const [name, value] of Object.entries(of)) {
      if (!values.has(name)) values.set(name, new Set());
      const set = values.get(name);
      if (set.size <= valuesMax) set.add(value);
    }
  }
  const worth = [...values].filter(([, set]) => set.size <= valuesMax && set.size <= Math.max(1, attributes.size / 2)).map(([name]) => name).sort().slice(0, attributesMax);
  return [['', 'Groups as fit'], ['none', 'No groups'], ['name', 'Group by name'], ['size', 'Group by size'], ['use', 'Group by use'], ['state', 'Group by state'], ...worth.map((name) => [attributePrefix + name, `Group by ${name}`])];
}

// use is how full nodes are together, of a kind.
export function use(entries, kind) {
  let used = 0, all = 0;
  for (const { node } of entries) {
    used += (node.allocated?.[kind] ?? 0) + (node.occupied?.[kind] ?? 0);
    all += node.capacity?.[kind] ?? 0;
  }
  return { used, all, part: format.part(used, all) };
}

// stateWords are the states of a node that deserve a look.
export function stateWords(node) {
  return [!node.schedulable && 'drained', node.evictions?.length && `${format.plural(node.evictions.length, 'eviction')}`,
    node.isReserved && 'reserved', node.nominations?.length && 'room is being made'].filter(Boolean);
}

// describe says in words what a cell shows.
export function describe({ node, id, m }) {
  const shares = [['foreign', m.foreign], ['daemonsets', m.daemon], ['other pods', m.own], ['nominated', m.nominated]].filter(([, p]) => p > 0);
  const parts = shares.map(([name, p]) => `${name} ${format.percent(p)}`).join(', ');
  return [id, m.has ? `${format.percent(m.use)} of ${format.kindName(m.kind)} used${parts ? `: ${parts}` : ''}` : `no ${format.kindName(m.kind) || 'capacity'}`,
    format.plural(node.allocationCount ?? 0, 'allocation'), ...stateWords(node)].join('; ');
}
