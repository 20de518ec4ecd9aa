// How quantities, times and states are written. All functions are pure, but for what
// know() tells of the kinds that there are.

// The kinds that are counted in thousandths. A GPU without a domain in its name is
// one that is shared; those of device plugins are counted whole.
const thousandths = new Set(['vcore', 'gpu']);

const bytes = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 });
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

// rounded has at most three digits that count.
function rounded(value) {
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2;
  return grouped.format(Number(value.toFixed(digits)));
}

// count is a whole number with separators: 12,345.
export function count(n) { return whole.format(n ?? 0); }

// short is a number in little room: 12.3k.
export function short(n) {
  const value = n ?? 0;
  if (Math.abs(value) < 10000) return whole.format(value);
  return Math.abs(value) < 1e6 ? `${rounded(value / 1e3)}k` : `${rounded(value / 1e6)}M`;
}

// plural is a count with its noun: 1 node, 2 nodes.
export function plural(n, noun, nouns = `${noun}s`) { return `${count(n)} ${n === 1 ? noun : nouns}`; }

// amount is a quantity of one kind without its name: "1.5", "3.0 GiB", "110".
export function amount(kind, n) {
  const value = n ?? 0;
  if (isBytes(kind)) return memory(value);
  if (thousandths.has(kind)) return rounded(value / 1000);
  return short(value);
}

// isBytes reports whether a kind is counted in bytes.
export function isBytes(kind) { return kind === 'memory' || kind === 'ephemeral-storage' || kind.startsWith('hugepages-'); }

function memory(value) {
  let size = Math.abs(value), unit = 0;
  while (size >= 1024 && unit < bytes.length - 1) { size /= 1024; unit++; }
  const digits = unit === 0 || size >= 100 ? 0 : 1;
  return `${value < 0 ? '−' : ''}${size.toFixed(digits)} ${bytes[unit]}`;
}

// amounts is several kinds in one line: "vcore 1.5 · memory 3.0 GiB".
export function amounts(of, none = 'nothing') {
  const names = kinds(of);
  return names.length ? names.map((kind) => `${kindName(kind)} ${amount(kind, of[kind])}`).join(' · ') : none;
}

let places = new Map(), alike = new Set();

// know takes the kinds that the partition has, those first that matter most.
export function know(names) {
  places = new Map(names.map((kind, i) => [kind, i]));
  const short = names.map(shortName);
  alike = new Set(short.filter((name, i) => short.indexOf(name) !== i));
}

// known are the kinds of the partition, those first that matter most.
export function known() { return [...places.keys()]; }

function shortName(kind) { return kind.slice(kind.lastIndexOf('/') + 1); }

// kindName is what people call a kind. What stands before the slash says where it is from;
// it stays where two kinds would read the same without it.
export function kindName(kind) { return alike.has(shortName(kind)) ? kind : shortName(kind); }

// kinds are the names of all kinds of some quantities, those first that matter most; of
// those that the partition does not have the well known ones.
export function kinds(...all) {
  const names = new Set();
  for (const of of all) for (const kind of Object.keys(of ?? {})) names.add(kind);
  const rank = (kind) => ({ vcore: 0, memory: 1, gpu: 2, pods: 9 }[kind] ?? 3);
  const place = (kind) => places.get(kind) ?? places.size;
  return [...names].sort((a, b) => place(a) - place(b) || rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0));
}

// part is n of total as a number from 0 on; of nothing it is 0, or 1 if something is used.
export function part(n, total) {
  if (!total || total < 0) return n > 0 ? 1 : 0;
  return Math.max(0, (n ?? 0) / total);
}

// percent is a part in words: "0 %", "< 1 %", "43 %".
export function percent(of) {
  const value = of * 100;
  if (value > 0 && value < 1) return '< 1 %';
  if (value > 99 && value < 100) return '> 99 %';
  return `${whole.format(value)} %`;
}

// share is the greatest part that a use has of any kind, and which kind that is.
export function share(use, total) {
  let most = { kind: '', part: 0 };
  for (const kind of kinds(use)) {
    if (!(total?.[kind] > 0) && !(use[kind] > 0)) continue;
    const p = part(use[kind], total?.[kind]);
    if (p > most.part || most.kind === '') most = { kind, part: p };
  }
  return most;
}

// plus adds quantities.
export function plus(...all) {
  const sum = {};
  for (const of of all) for (const [kind, n] of Object.entries(of ?? {})) sum[kind] = (sum[kind] ?? 0) + n;
  return sum;
}

const steps = [[86400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']];

// duration writes nanoseconds with two units at most: "2h 5m", "3.2s", "15ms".
export function duration(nanos) {
  const seconds = Math.max(0, (nanos ?? 0) / 1e9);
  if (seconds < 0.0005) return `${Math.round(seconds * 1e6)}µs`;
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`;
  if (seconds < 10) return `${rounded(Math.floor(seconds * 10) / 10)}s`;
  let left = Math.floor(seconds), text = '';
  for (const [size, unit] of steps) {
    const n = Math.floor(left / size);
    left -= n * size;
    if (n === 0 && text === '') continue;
    if (text !== '') return n === 0 ? text : `${text} ${n}${unit}`;
    text = `${n}${unit}`;
  }
  return text;
}

// age is how long ago a moment in nanoseconds was, given now in milliseconds.
export function age(nanos, now) { return nanos ? duration((now - nanos / 1e6) * 1e6) : ''; }

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const moment = new Intl.DateTimeFormat('en-GB', {
  year: 'numeric', month: 'short', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23',
});

// time is a moment of nanoseconds as a time of day, here.
export function time(nanos) { return nanos ? clock.format(new Date(nanos / 1e6)) : ''; }

// date is the same with its day.
export function date(nanos) { return nanos ? moment.format(new Date(nanos / 1e6)) : ''; }
