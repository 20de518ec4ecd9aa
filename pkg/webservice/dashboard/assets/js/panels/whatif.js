// What if: asks that might come, nodes that might come or go, or a configuration that might
// be in effect, simulated by the scheduler on a copy of the partition.
//
//   #/whatif                  the form as it was left
//   #/whatif?question=JSON    a question in the words of REST, which is simulated at once

import { ApiError } from '../api.js';
import { h, state } from '../dom.js';
import { kinds as kindsOf } from '../format.js';
import { createViewer } from '../parts/viewer.js';
import { emptyAsk, formOf, readFailure, readQuestion } from '../parts/question.js';
import { emptyNodes } from '../parts/questionnodes.js';
import { questionForm } from '../parts/questionform.js';
import { effectOf } from '../parts/effect.js';
import { outcomeView, refusedFields, summary } from '../parts/outcome.js';
import { copyButton } from '../parts/links.js';
import { capital } from '../parts/words.js';

const addressMax = 4000; // bytes of a question that is put into the address
const hints = 50; // names that are offered for a field

// What was filled in and what came of it stay when another panel is looked at.
const kept = { form: blank(), partition: '', asked: '', result: null };

function blank() { return { asks: [emptyAsk()], nodes: emptyNodes(), nodesOpen: false, within: '', config: '', configOpen: false }; }

export default {
  id: 'whatif',
  title: 'What if',
  mount(root, ctx) {
    const desk = createDesk(root, ctx);
    const viewer = createViewer(root, ctx, ({ query }) => {
      desk.follow(query.get('question'));
      return { key: 'desk', make: () => desk };
    });
    desk.begin(viewer.paint);
    return viewer;
  },
};

function createDesk(root, ctx) {
  const abort = new AbortController();
  let paint = () => {}, due = false; // due is a question of the address that is not simulated yet
  let kinds = [], names = { application: [], node: [] }, typed = { application: '', node: '' };
  let errors = new Map(), tried = false, simulating = false;
  const where = (...parts) => ctx.api.path('partition', ctx.partition(), ...parts);

  if (kept.partition !== ctx.partition()) Object.assign(kept, { partition: ctx.partition(), result: null, asked: '' });

  async function load(signal) {
    const params = (name, fields, more) => ({ params: { fields, limit: hints, [name]: typed[name] && `${typed[name]}*`, ...more }, signal });
    const [partitions, applications, nodes] = await Promise.all([
      ctx.api.get('partitions', { params: { fields: 'clusterId,name,capacity' }, signal }),
      ctx.api.get(where('applications', 'active'), params('application', 'applicationID,queueName')),
      ctx.api.get(where('nodes'), params('node', 'nodeID')),
    ]);
    const own = partitions.data.find((p) => [p.name, `[${p.clusterId}]${p.name}`].includes(ctx.partition()));
    kinds = kindsOf({ vcore: 0, memory: 0 }, own?.capacity?.capacity);
    names = { application: applications.data.map((a) => [a.applicationID, a.queueName]), node: nodes.data.map((n) => [n.nodeID, '']) };
    if (due) { due = false; simulate(); }
  }

  function show() {
    return [
      h('div', { class: 'toolbar' }, h('h1', null, 'What if'),
        h('span', { class: 'quiet' }, 'Where asks would land, what would be evicted for them, and what other nodes or another configuration would change'),
        h('span', { class: 'grow' }), copyButton(ctx, 'Copy link', linkOf)),
      h('div', { class: 'whatif' },
        questionForm(ctx, { form: kept.form, kinds, names, errors, simulating, change, hint, simulate, clear, useConfig }),
        h('section', { class: 'whatif-result', 'aria-label': 'What would come of it', 'aria-busy': simulating ? 'true' : 'false' }, result())),
    ];
  }

  function result() {
    if (!kept.result) {
      return state('empty', 'Nothing simulated yet', 'Fill in what might be asked for, what might be done to nodes, or another configuration. It is simulated on a copy: nothing changes.');
    }
    return outcomeView(ctx, kept.result, { stale: written(kept.form) !== kept.result.question, choose });
  }

  function choose(changes) {
    Object.assign(kept.result, changes);
    paint();
  }

  // change takes over what was typed; a change of the shape of the form is painted
  // at once as well.
  function change(edit) {
    edit(kept.form);
    if (tried) ({ errors } = readQuestion(kept.form));
    paint();
  }

  function hint(name, text) {
    if (typed[name] === text.trim()) return;
    typed = { ...typed, [name]: text.trim() };
    ctx.refresh();
  }

  function clear() {
    Object.assign(kept, { form: blank(), result: null, asked: '' });
    [errors, tried] = [new Map(), false];
    ctx.go(ctx.link('whatif'), true);
    paint();
  }

  async function useConfig() {
    try {
      const { data } = await ctx.api.get('config', { text: true, signal: abort.signal });
      change((form) => { form.config = withoutExtra(data); });
    } catch (err) {
      errors.set('config', err.status === 404 ? 'The configuration in use is not known here.' : err.message);
      paint();
    }
  }

  async function simulate() {
    if (simulating) return;
    tried = true;
    let body;
    ({ body, errors } = readQuestion(kept.form));
    if (errors.size > 0) { complain(); return; }
    simulating = true;
    paint();
    const question = written(kept.form);
    try {
      // What comes anyway is asked for as well, so that the difference can be told.
      const [{ data }, anyway] = await Promise.all([body, { within: body.within }].map((one) => ctx.api.post(where('whatif'), one, { signal: abort.signal })));
      kept.result = { outcome: data, effect: effectOf(data, anyway.data), body, question, at: ctx.now(), page: 0, chosen: data.asks.length === 1 ? data.asks[0].allocationKey : null };
      errors = refusedFields(data, kept.form);
      remember(body);
      ctx.announce(summary(kept.result));
    } catch (err) {
      if (abort.signal.aborted) return;
      if (!(err instanceof ApiError)) throw err;
      const [field, text] = readFailure(err.message, kept.form);
      errors = new Map([[field, capital(text)]]);
    } finally {
      simulating = false;
    }
    if (errors.size > 0) complain(); else { paint(); reveal(); }
  }

  // complain shows what is wrong and goes to the first field of it.
  function complain() {
    if (errors.has('config')) kept.form.configOpen = true;
    if ([...errors.keys()].some((field) => field.startsWith('nodes.'))) kept.form.nodesOpen = true;
    paint();
    ctx.announce([...errors.values()].join(' '));
    root.querySelector('[aria-invalid=true]')?.focus();
  }

  // reveal brings the result into sight where it is below the form.
  function reveal() {
    const el = root.querySelector('.whatif-result');
    if (el && el.getBoundingClientRect().top > window.innerHeight * 0.7) el.scrollIntoView({ block: 'start' });
  }

  function remember(body) {
    const text = JSON.stringify(body);
    kept.asked = text.length <= addressMax ? text : '';
    ctx.go(ctx.link('whatif', [], { question: kept.asked }), true);
  }

  // follow takes the question of an address, unless it is the one that is shown.
  function follow(text) {
    if (!text || text === kept.asked) return;
    try {
      kept.form = formOf(JSON.parse(text));
    } catch {
      errors = new Map([['', 'The address holds no question that can be read.']]);
      return;
    }
    Object.assign(kept, { asked: text, result: null });
    [errors, tried, due] = [new Map(), true, true];
  }

  function linkOf() {
    const { body } = readQuestion(kept.form);
    return new URL(ctx.link('whatif', [], { question: JSON.stringify(body) }), location.href).href;
  }

  return {
    load, show, follow,
    begin(repaint) { paint = repaint; },
    unmount() { abort.abort(); },
  };
}

function written(form) { return JSON.stringify(readQuestion(form).body); }

// withoutExtra is a configuration as it can be loaded again: the settings of the
// resource manager and the sum over the text are no part of it.
function withoutExtra(text) {
  const out = [];
  let skipped = false;
  for (const line of text.split('\n')) {
    if (/^\S/.test(line)) skipped = /^"?(extra|checksum)"?:/i.test(line);
    if (!skipped) out.push(line);
  }
  return out.join('\n');
}
