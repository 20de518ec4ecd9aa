// The cluster in sums. What is seen here leads to where more is said.
import { badge, bar, h, render, state, table } from '../dom.js';
import * as format from '../format.js';
import { createHistory } from '../parts/history.js';
import { queueLink } from '../parts/links.js';
import { pendingOf } from '../parts/queuerow.js';
import { nameOf, share, walk } from '../parts/shares.js';
import * as guaranteeState from '../parts/guaranteestate.js';
import { columns, spark } from '../parts/spark.js';
import { capital } from '../parts/words.js';

const samplesMax = 450; // a quarter of an hour at the usual pace
const lately = 5 * 60 * 1000; // milliseconds
const historyEvery = 20000;
const queuesMax = 8;

// The counters as they were while the page has been open, by partition: they outlast
// a visit to another panel.
const samples = new Map();

// What the order of nodes is called, by its type.
const NODE_ORDERS = { binpacking: 'by bin packing', devices: 'by their devices', scarcity: 'by what is scarce' };

export default {
  id: 'overview',
  title: 'Overview',
  mount(root, ctx) {
    let history = { at: -Infinity, containers: [], plans: null };
    const hours = createHistory(ctx);
    render(root, state('loading', 'Reading the cluster', 'One moment.'));

    async function refresh(signal) {
      const read = (...parts) => ctx.api.path('partition', ctx.partition(), ...parts);
      const counted = ctx.api.get(read('summary'), { signal }).catch((err) => { if (err.status === 404) return { data: null }; throw err; });
      const [{ data: summary }, { data: health }] = await Promise.all([
        counted, ctx.api.get('scheduler/healthcheck', { signal, accept: [503] }), hours.read('root', signal)]);
      if (performance.now() - history.at > historyEvery) history = await readHistory(ctx, signal);
      if (!summary) { render(root, state('empty', 'The partition was removed', 'Its resource manager has left or registers again.')); return; }
      // Without any guarantee the queues are compared by what they may use.
      const queues = summary.ranked.length > 0 ? null : (await ctx.api.get(read('queues'), { signal })).data;
      const reasons = Object.entries(summary.pendingBy).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
      const seen = { ...summary, queues, count: summary.queues, health, reasons, history, past: sample(ctx, summary) };
      const stack = (...cards) => h('div', { class: 'stack' }, cards);
      render(root, title(seen), tiles(ctx, seen), h('div', { class: 'stacks' },
        stack(capacity(seen), queues ? topQueues(ctx, seen) : guarantees(ctx, seen)),
        stack(waiting(ctx, seen), latelyCard(ctx, seen), applications(ctx, seen)),
        stack(healthCard(seen), fullness(ctx, seen))),
        card('The last hours', {}, hours.charts('root')));
    }

    return { refresh, unmount() {} };
  },
};

// readHistory reads what changes once a minute. It may not be counted.
async function readHistory(ctx, signal) {
  const { data } = await ctx.api.get('history/containers', { signal });
  return { at: performance.now(), containers: data.slice(-60).map((p) => Number(p.totalContainers)) };
}

// sample remembers the counters. One that fell is that of a new scheduler.
function sample(ctx, { partition, placements }) {
  const now = { at: ctx.now(), placements, victims: partition.preempted?.victims ?? 0 };
  let past = samples.get(ctx.partition()) ?? [];
  const last = past.at(-1);
  if (last && (now.victims < last.victims || now.placements < last.placements)) past = [];
  past = [...past, now].slice(-samplesMax);
  samples.set(ctx.partition(), past);
  return past;
}

function title({ partition }) {
  const on = (known, name) => (known === undefined ? null : `${name} ${known ? 'on' : 'off'}`);
  const facts = [partition.state?.toLowerCase(), `nodes ordered ${NODE_ORDERS[partition.nodeSortingPolicy?.type] ?? 'evenly'}`,
    on(partition.preemptionEnabled, 'preemption'), on(partition.quotaPreemptionEnabled, 'preemption by quota')];
  const old = partition.age && badge('warn', `busy, as of ${format.duration(partition.age)} ago`, 'The partition does not answer: this is how it was when it did last');
  return h('div', { class: 'toolbar' }, h('h1', null, `Partition ${partition.name}`), old, h('span', { class: 'quiet' }, facts.filter(Boolean).join(' · ')));
}

function tiles(ctx, { partition, pending: waits, guaranteeStates, health, nodes }) {
  const under = guaranteeStates[guaranteeState.under] ?? 0, over = guaranteeStates[guaranteeState.over] ?? 0;
  const wrong = health.HealthChecks?.filter((c) => !c.Succeeded).length ?? 0;
  const tile = (href, name, value, note, tone) => h(href ? 'a' : 'div', { class: ['tile', tone && `tile-${tone}`], href: href || null },
    h('span', { class: 'tile-name' }, name), h('strong', { class: 'tabular' }, value), h('span', { class: 'tile-note' }, note));
  return h('div', { class: 'tiles' },
    tile(ctx.link('nodes'), 'Nodes', format.count(partition.totalNodes), nodes.drained ? `${format.count(nodes.drained)} drained` : 'all in use'),
    tile(ctx.link('applications'), 'Applications', format.count(partition.applications?.total), `${format.count(partition.applications?.Running)} running`),
    tile(ctx.link('applications'), 'Allocations', format.count(partition.totalContainers), nodes.evicting ? `evictions on ${format.plural(nodes.evicting, 'node')}` : 'none evicted'),
    tile(ctx.link('applications', [], { view: 'pending' }), 'Pending', format.count(waits), waits ? 'see why' : 'nothing waits', waits ? 'warn' : ''),
    tile(ctx.link('queues', [], { view: 'guarantees' }), 'Under and waiting', format.count(under), over ? `${format.plural(over, 'queue')} over` : `no ${under ? 'other ' : ''}queue is over`, under ? 'bad' : ''),
    tile(ctx.link('preemption'), 'Preempted', format.count(partition.preempted?.victims), `${format.count(partition.preempted?.overdue)} overdue`, partition.preempted?.overdue ? 'warn' : ''),
    tile('', 'Health', wrong ? 'unhealthy' : 'healthy', wrong ? `${format.plural(wrong, 'check')} failed` : 'all checks pass', wrong ? 'bad' : 'good'));
}

function card(name, more, ...content) {
  return h('section', { class: ['card', more.class], 'aria-label': name },
    h('div', { class: 'card-head' }, h('h2', null, name), more.link && h('a', { href: more.link[0] }, more.link[1])), content);
}

function capacity({ kinds }) {
  const rows = kinds.map(({ name: kind, capacity: whole, used: own, occupied: others }) => {
    const words = `${format.kindName(kind)}: ${format.amount(kind, own)} used, ${format.amount(kind, others)} foreign, of ${format.amount(kind, whole)}`;
    return h('div', { class: 'gauge', key: kind },
      h('div', { class: 'gauge-head' }, h('strong', { title: kind }, format.kindName(kind)),
        h('span', { class: 'tabular' }, `${format.amount(kind, own)} of ${format.amount(kind, whole)}`),
        h('span', { class: 'tabular quiet' }, format.percent(format.part(own, whole)))),
      bar({ label: words, parts: [{ part: format.part(own, whole), tone: 'own' }, { part: format.part(others, whole), tone: 'foreign' }] }),
      h('div', { class: 'gauge-note quiet tabular' }, others > 0 ? `foreign ${format.amount(kind, others)} · ` : '',
        `free ${format.amount(kind, whole - own - others)}`));
  });
  return card('Capacity', {}, rows.length ? h('div', { class: 'gauges' }, rows) : state('empty', 'No capacity', 'No node has come yet.'),
    h('ul', { class: 'legend' }, h('li', null, h('span', { class: 'swatch fill-own' }), 'this scheduler'), h('li', null, h('span', { class: 'swatch fill-foreign' }), 'other schedulers')));
}

// fullness is nodes by state and by how full they are.
function fullness(ctx, { partition, kinds, nodes }) {
  const line = (tone, name, n, params) => h('tr', null, h('td', null, badge(n ? tone : 'plain', name)), h('td', { class: 'num' }, h('a', { href: ctx.link('nodes', [], params) }, format.count(n))));
  return card('Nodes', { link: [ctx.link('nodes'), 'map'] },
    h('table', { class: 'table' }, h('tbody', null,
      line('good', 'schedulable', (partition.totalNodes ?? 0) - nodes.drained, { state: 'schedulable' }),
      line('bad', 'drained', nodes.drained, { state: 'drained' }),
      line('info', 'reserved', nodes.reserved, { state: 'reserved' }),
      line('warn', 'with evictions', nodes.evicting, { state: 'evicting' }))),
    partition.foreignUnknownNode > 0 && h('p', { class: 'warn-text' }, `${format.plural(partition.foreignUnknownNode, 'foreign pod')} on nodes that are not known`),
    kinds.filter((kind) => kind.capacity > 0).map(({ name, nodesByUse }) => histogram(name, nodesByUse)));
}

function histogram(kind, nodesByUse) {
  const range = (i) => (i === nodesByUse.length - 1 ? 'more than 100 %' : `${i * 10} to ${(i + 1) * 10} %`);
  const list = nodesByUse.map((n, i) => ({ name: `${range(i)} of ${format.kindName(kind)} used`, n, tone: i === nodesByUse.length - 1 ? 'bad' : 'own' }));
  return h('figure', { class: 'histogram' },
    h('figcaption', { class: 'quiet' }, h('span', null, `nodes by use of ${format.kindName(kind)}`), h('span', null, '0 – 100 %')),
    columns(list, `${format.kindName(kind)}: ${list.filter((one) => one.n).map((one) => `${one.name} on ${one.n} nodes`).join(', ')}`));
}

function ranked(rows, total) {
  return h('ul', { class: 'ranked' }, rows.map(({ name, n, href, tone = 'own' }) => h('li', null,
    h('span', null, href ? h('a', { href }, name) : name), h('span', { class: 'num' }, format.count(n)),
    bar({ label: `${name}: ${n}`, parts: [{ part: format.part(n, total), tone }] }))));
}

function waiting(ctx, { reasons, pending: all }) {
  const rows = reasons.map(([why, n]) => ({ name: capital(why), n, tone: 'warn', href: ctx.link('applications', [], { view: 'pending', why }) }));
  return card('Pending by reason', { link: [ctx.link('applications', [], { view: 'pending' }), 'all asks'] },
    rows.length ? ranked(rows, all) : h('p', { class: 'quiet' }, 'Nothing waits.'));
}

const stateTones = { Running: 'own', Accepted: 'info', New: 'info', Completing: 'plain', Completed: 'good', Failing: 'bad', Failed: 'bad', Resuming: 'warn', Rejected: 'bad' };
const ended = { Completed: 'completed', Failed: 'completed', Rejected: 'rejected' };

function applications(ctx, { partition }) {
  const { total = 0, ...states } = partition.applications ?? {};
  const rows = Object.entries(states).sort((a, b) => b[1] - a[1]).map(([name, n]) => ({
    name, n, tone: stateTones[name] ?? 'plain', href: ctx.link('applications', [], ended[name] ? { state: ended[name] } : { status: name.toLowerCase() }),
  }));
  return card('Applications, by state', { link: [ctx.link('applications'), 'list'] },
    rows.length ? ranked(rows, Math.max(total, ...rows.map((r) => r.n))) : h('p', { class: 'quiet' }, 'There is none.'));
}

// latelyCard is what was done in the last minutes, as far as this page has been open.
function latelyCard(ctx, { past, history, partition }) {
  const now = past.at(-1), recent = past.filter((p) => p.at > now.at - lately), first = recent[0];
  const over = format.duration(Math.max(1000, now.at - first.at) * 1e6);
  const rates = (field) => recent.slice(1).map((p, i) => Math.max(0, (p[field] - recent[i][field]) / Math.max(0.2, (p.at - recent[i].at) / 1000)));
  const figure = (name, n, values) => h('figure', { class: 'lately' },
    h('figcaption', null, h('strong', { class: 'tabular' }, format.count(n)), h('span', { class: 'quiet' }, ` ${name}`)), spark(values, `${name}: ${format.count(n)}`));
  const { plans = 0, nominations = 0, cleared = 0, loops = 0, overdue = 0 } = partition.preempted ?? {};
  return card(now.at - first.at < 60000 ? 'Since this page is open' : `In the last ${over}`, { link: [ctx.link('preemption'), 'preemption log'] },
    figure('placed', now.placements - first.placements, rates('placements')),
    figure('preempted', now.victims - first.victims, rates('victims')),
    history.containers.length > 1 && figure('allocations, over the last hour', history.containers.at(-1), history.containers),
    h('p', { class: 'quiet' }, `Since the start: ${format.plural(plans, 'plan')}, ${format.plural(nominations, 'nomination')}, ${format.count(cleared)} cleared, ${format.count(overdue)} overdue, ${format.plural(loops, 'loop')} stopped.`));
}

function healthCard({ health }) {
  const checks = health.HealthChecks ?? [], wrong = checks.filter((c) => !c.Succeeded);
  if (wrong.length === 0) {
    return card('Health', {}, badge('good', `All ${checks.length} checks pass`),
      h('details', { class: 'more' }, h('summary', null, 'What is checked'), h('ul', { class: 'plain-list' }, checks.map((c) => h('li', null, c.Description, h('span', { class: 'quiet' }, `: ${c.DiagnosisMessage}`))))));
  }
  return card('Health', { class: 'alarm' }, wrong.map((c) => h('div', { class: 'wrong' }, badge('bad', c.Name), h('p', null, c.DiagnosisMessage), h('p', { class: 'quiet' }, `should be: ${c.Description}`))));
}

// guarantees is how queues of any level stand to what is guaranteed to them.
function guarantees(ctx, { ranked: rows, guaranteeStates }) {
  const all = Object.values(guaranteeStates).reduce((sum, n) => sum + n, 0);
  return card('Queues, by their guarantee', { link: [ctx.link('queues', [], { view: 'guarantees' }), `all ${format.count(all)} with a guarantee`] },
    table({
      label: 'Queues by their guarantee', key: (r) => r.queueName, rows,
      columns: guaranteeState.columns((r) => queueLink(ctx, r.queueName, r.queueName.replace(/^root\./, ''))),
    }), h('p', { class: 'table-note quiet' }, 'The mark is what is guaranteed. A bar ends at the max of its queue or, without one, at what it uses.'));
}

function topQueues(ctx, { queues }) {
  const rows = [];
  walk(queues, (queue, _, fair) => { if (queue.isLeaf) rows.push({ queue, most: share(queue, fair) }); });
  rows.sort((a, b) => b.most.part - a.most.part || (a.queue.queuename < b.queue.queuename ? -1 : 1));
  const scale = 1.04 * Math.max(1, rows[0]?.most.part ?? 0); // the mark is not at the very end
  return card('Queues by share of their guarantee or max', { link: [ctx.link('queues'), `all ${format.count(rows.length)} leaves`] },
    table({
      label: 'Queues that use the largest share of their guarantee or max', key: (r) => r.queue.queuename, rows: rows.slice(0, queuesMax), empty: 'There is no leaf queue',
      columns: [
        { head: 'Queue', class: 'whole', cell: (r) => queueLink(ctx, r.queue.queuename, r.queue.queuename.replace(/^root\./, '')) },
        { head: 'Use', class: 'grow', cell: (r) => bar({
          label: `${nameOf(r.queue.queuename)} uses ${format.percent(r.most.part)} of its ${format.kindName(r.most.kind) || 'share'}`,
          parts: [{ part: r.most.part / scale, tone: r.most.part > 1 ? 'warn' : 'own' }], marks: [{ part: 1 / scale, kind: 'guaranteed' }] }) },
        { head: '', class: 'nowrap', cell: (r) => [format.percent(r.most.part), h('span', { class: 'quiet' }, r.most.kind ? ` of ${format.kindName(r.most.kind)}` : '')] },
        { head: 'Pending', class: 'when-wide', num: true, cell: (r) => pendingOf(r.queue) },
      ],
    }), h('p', { class: 'table-note quiet' }, 'The mark is what is guaranteed to a queue or, if nothing is, its max.'));
}
