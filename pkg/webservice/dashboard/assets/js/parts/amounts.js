// Amounts of resource kinds as people write them.

import { isBytes } from '../format.js';

const units = { '': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12, p: 1e15, ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30, ti: 2 ** 40, pi: 2 ** 50 };
const thousandths = new Set(['vcore', 'gpu']);

// readAmount reads "1.5", "500m", "4Gi" or "110" as a quantity of a kind; null is none
// that can be meant.
export function readAmount(kind, text) {
  const m = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  if (!m) return null;
  const number = Number(m[1]), unit = m[2];
  let value;
  if (thousandths.has(kind)) value = unit === 'm' ? number : unit === '' ? number * 1000 : NaN;
  else value = number * (units[unit.toLowerCase().replace(/b$/, '')] ?? NaN);
  if (!Number.isFinite(value) || Math.abs(value - Math.round(value)) > 1e-6 || value > Number.MAX_SAFE_INTEGER) return null;
  return Math.round(value);
}

// writeAmount is a quantity as it would be filled in.
export function writeAmount(kind, value) {
  if (thousandths.has(kind)) return String(value / 1000);
  if (!isBytes(kind)) return String(value);
  for (const [unit, size] of [['Gi', 2 ** 30], ['Mi', 2 ** 20], ['Ki', 2 ** 10]]) if (value % size === 0 && value > 0) return `${value / size}${unit}`;
  return String(value);
}

// example is what stands in an empty field for a kind.
export function example(kind) { return { vcore: '1.5 or 500m', gpu: '1 or 500m' }[kind] ?? (isBytes(kind) ? '4Gi or 512Mi' : '1'); }
