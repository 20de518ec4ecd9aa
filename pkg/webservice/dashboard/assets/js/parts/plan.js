// A plan to make room, told for people: what was needed, the candidates, what was
// tried and was not enough, the victims.

import { badge, h, pairs } from '../dom.js';
import { readPlan } from './planlines.js';
import { askLink } from './links.js';
import { capital, readable } from './words.js';

const names = {
  ask: 'The ask', queue: 'The queue', free: 'Free on the node', releasing: 'Released already', quota: 'Quota',
  candidates: 'Candidates', floor: 'Guarantee', violations: 'Budgets', strategy: 'Strategy', proof: 'Optimality',
};

const keysShown = 6;

// summaryBadge is what a plan came to. Whether room is still being made is not known from it.
export function summaryBadge(summary) {
  if (/^(victims found|chosen by)/.test(summary)) return badge('good', 'victims found');
  return summary.startsWith('waits for releasing') ? badge('info', 'room comes') : badge('warn', 'no room');
}

// planView is a plan as elements. applicationOf finds the application of a victim
// by its key, if it is known; with victims or trigger false the victims or the
// trigger are left out.
export function planView(ctx, plan, { applicationOf = () => undefined, victims = true, trigger = true } = {}) {
  const p = readPlan(plan);
  return h('div', { class: 'plan' },
    h('p', { class: 'plan-summary' }, summaryBadge(p.summary), ' ', capital(readable(p.summary).replace(/^victims found:? ?/, ''))),
    pairs(['Trigger', trigger && capital(p.trigger ?? '')], ...p.facts.map(([name, text]) => [names[name], readable(text)])),
    victims && p.victims.length > 0 && part('Victims', p.victims.map((v) => victim(ctx, v, applicationOf(v.key)))),
    p.tried.length > 0 && part('What was tried before', p.tried.map((t) => [h('strong', null, t.strategy), ` ${readable(t.why)}`])),
    p.filtered.length > 0 && part('What was filtered out', p.filtered.map((f) => [h('strong', null, f.why), ': ', keyList(f.keys)])),
    p.rest.length > 0 && part('Further', p.rest.map(readable)));
}

function part(title, rows) {
  return h('div', { class: 'section' }, h('h3', null, title), h('ul', { class: 'plan-list' }, rows.map((row) => h('li', null, row))));
}

function victim(ctx, v, application) {
  return [askLink(ctx, application, v.key), ' ', readable(v.amounts),
    v.class && h('span', { class: 'quiet' }, ` ${v.class}, priority ${v.priority}${v.elsewhere ? ', on another node' : ''}`)];
}

// keyList is a few of many keys, the others after a press.
function keyList(text) {
  const keys = text.split(', ');
  if (keys.length <= keysShown) return text;
  return [keys.slice(0, keysShown).join(', '), h('details', { class: 'inline' },
    h('summary', null, `and ${keys.length - keysShown} more`), h('span', null, keys.slice(keysShown).join(', ')))];
}
