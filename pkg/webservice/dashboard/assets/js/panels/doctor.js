// What is wrong now, the worst first: why, since when, for which pods, and what would help.
//
// Remedies are tried on a copy of the cluster, which takes the scheduler a while, so it is not asked
// with every refresh.
import { badge, h, pairs, state } from '../dom.js';
import * as format from '../format.js';
import { applicationLink, askLink, queueLink } from '../parts/links.js';
import { createViewer } from '../parts/viewer.js';
import { capital, readable } from '../parts/words.js';

const every = 15000; // milliseconds between two examinations

const tones = { urgent: 'bad', wrong: 'warn', note: 'plain' };
const severities = [['urgent', 'urgent'], ['wrong', 'wrong'], ['note', 'note']];

export default {
  id: 'doctor',
  title: 'Doctor',
  mount: (root, ctx) => createViewer(root, ctx, () => ({ key: '', make: () => examination(ctx) })),
};

function examination(ctx) {
  let found = null, of = '', at = -Infinity;

  async function load(signal) {
    if (of === ctx.partition() && performance.now() - at < every) return;
    ({ data: found } = await ctx.api.get(ctx.api.path('partition', ctx.partition(), 'doctor'), { signal }));
    [of, at] = [ctx.partition(), performance.now()];
  }

  function again() { at = -Infinity; ctx.refresh(); }

  function show() {
    const counts = severities.map(([severity, word]) => {
      const n = found.findings.filter((f) => f.severity === severity).length;
      return n > 0 && badge(tones[severity], severity === 'note' ? format.plural(n, word) : `${format.count(n)} ${word}`);
    });
    return [
      h('div', { class: 'toolbar' }, h('h1', null, 'What is wrong now'), found.findings.length === 0 ? badge('good', 'nothing') : counts, h('span', { class: 'grow' }),
        h('button', { type: 'button', onclick: again }, 'Look again')),
      h('p', { class: 'quiet' }, looked(found.looked), found.partial && ' The time was over before all remedies were tried.'),
      found.findings.length === 0 ? state('empty', 'Nothing is wrong', 'No queue lacks what is guaranteed to it, and nothing hangs, floods or stands idle.')
        : h('ol', { class: 'findings' }, found.findings.map((f) => h('li', { key: `${f.kind} ${f.subject} ${f.cause}` }, finding(ctx, f)))),
      Object.entries(found.more ?? {}).sort().map(([kind, n]) => h('p', { class: 'quiet' }, `${capital(kind)}: ${format.count(n)} more`)),
    ];
  }

  return { load, show };
}

function looked(l) {
  return `${format.plural(l.queues, 'queue')}, ${format.plural(l.nodes, 'node')}, ${format.plural(l.applications, 'application')}, ${format.plural(l.asks, 'pod')} waiting, `
    + `${format.plural(l.evictions, 'eviction')} and ${format.plural(l.limits, 'limit')} of users and groups were looked at.`;
}

function finding(ctx, f) {
  return h('div', { class: ['card', 'finding', `finding-${tones[f.severity]}`] },
    h('div', { class: 'card-head' }, h('h2', null, `${capital(f.kind)}: `, subject(ctx, f)), badge(tones[f.severity], f.severity)),
    h('p', null, `${capital(readable(f.cause))}.`),
    pairs(
      ['Since', f.since && `${format.date(f.since)}, ${format.age(f.since, ctx.now())} ago (${f.sinceOf})`],
      ['Harms', f.asks > 0 && harm(ctx, f)],
      [f.tried ? 'Tried' : 'Remedy', f.remedy.startsWith(`${f.allocationKey}:`) ? readable(f.remedy) : capital(readable(f.remedy))],
      ['Also', f.detail && capital(readable(f.detail))]));
}

// subject leads to what it is about.
function subject(ctx, f) {
  switch (f.kind) {
    case 'starving queue': return queueLink(ctx, f.subject);
    case 'hanging eviction': case 'waiting for quota': return f.subject.startsWith('root') ? queueLink(ctx, f.subject) : f.subject;
    case 'idle devices': return format.kindName(f.subject);
    case 'impossible ask': case 'loop stopped': return applicationLink(ctx, f.applicationId);
    case 'flood': return f.user ? h('a', { href: ctx.link('users', [], { text: f.user }) }, f.subject) : applicationLink(ctx, f.applicationId);
    case 'closed nodes': return h('a', { href: ctx.link('nodes', [], { state: 'drained' }) }, f.subject);
    case 'lost nodes': case 'broken group': return f.subject;
    default: return queueLink(ctx, f.subject);
  }
}

// harm is for which pods it is bad. Of a flood those are pods of others.
function harm(ctx, f) {
  if (f.kind === 'flood') return `${format.plural(f.asks, 'pod')} of others`;
  return [`${format.plural(f.asks, 'pod')}, such as `, askLink(ctx, f.applicationId, f.allocationKey), ' in ', queueLink(ctx, f.queueName), f.user && ` of ${f.user}`];
}
