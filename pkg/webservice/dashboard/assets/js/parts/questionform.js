// The form of a what-if. What it holds belongs to the panel; each field tells what
// was typed, and shows what is wrong with it.

import { badge, h } from '../dom.js';
import { example } from './amounts.js';
import { emptyAsk } from './question.js';
import { kindName } from '../format.js';

// questionForm makes it. names offers [value, text] for the fields application and
// node; change(edit) is called with a function that changes the form.
export function questionForm(ctx, { form, kinds, names, errors, simulating, change, hint, simulate, clear, useConfig }) {
  const parts = fields(form, errors, change);
  return h('form', {
    class: 'question', 'aria-label': 'What might be', novalidate: true, key: 'question',
    onsubmit(event) { event.preventDefault(); simulate(); },
    onkeydown(event) { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); simulate(); } },
  },
  h('p', { class: 'safe' }, badge('good', 'Nothing changes'), ' It is simulated on a copy. Nothing is evicted, and the resource manager is asked only what it would allow.'),
  form.asks.map((newAsk, i) => askFields({ form, newAsk, i, kinds, hint, parts, change, errors })),
  h('div', { class: 'toolbar', key: 'more' }, h('button', {
    type: 'button', onclick: () => change((f) => { f.asks.push(another(f)); }),
  }, form.asks.length === 0 ? 'Add an ask' : 'Add an ask of another kind')),
  h('div', { class: 'card question-card', key: 'within' }, h('div', { class: 'field-row' },
    parts.text({ at: 'within', label: 'Wait for', value: form.within, placeholder: 'delays', help: 'For what only time brings: 30s, 10m, 1h at most. Empty is for the delays that run then. What is evicted stays that long.', take: (f, text) => { f.within = text; } }))),
  nodeFields({ form, parts }),
  configFields({ form, errors, change, useConfig }),
  errors.has('') && h('p', { class: 'field-error', role: 'alert', key: 'whole' }, errors.get('')),
  h('div', { class: 'toolbar', key: 'simulate' },
    h('button', { type: 'submit', class: 'primary', disabled: simulating }, simulating ? 'Simulating' : 'Simulate'),
    h('button', { type: 'button', onclick: clear }, 'Clear'),
    h('span', { class: 'quiet small' }, h('kbd', null, 'Ctrl'), ' ', h('kbd', null, 'Enter'), ' simulates it')),
  ['application', 'node'].map((name) => h('datalist', { id: `whatif-${name}s`, key: name },
    names[name].map(([value, text]) => h('option', { value, key: value }, text)))));
}

// another is one more ask, like the last, with a name of its own.
function another(form) {
  const last = form.asks.at(-1) ?? emptyAsk();
  const used = new Set(form.asks.map((newAsk) => newAsk.key.trim()));
  let key = 'try';
  for (let code = 98; used.has(key); code++) key = `try-${String.fromCharCode(code)}`;
  return { ...last, amounts: { ...last.amounts }, key };
}

function askFields({ form, newAsk, i, kinds, hint, parts, change, errors }) {
  const at = (name) => `asks[${i}].${name}`;
  const own = (name) => (f, text) => { f.asks[i][name] = text; };
  const all = [...new Set([...kinds, ...Object.keys(newAsk.amounts)])];
  return h('fieldset', { class: 'card question-card', key: `ask ${i}` },
    h('legend', null, form.asks.length > 1 ? `Ask ${i + 1}` : 'What is asked for'),
    form.asks.length + (form.config || Object.values(form.nodes).some(Boolean) ? 1 : 0) > 1 && h('button', {
      type: 'button', class: 'icon question-remove', 'aria-label': `Remove ask ${i + 1}`, title: 'Remove', onclick: () => change((f) => { f.asks.splice(i, 1); }),
    }, '✕'),
    h('div', { class: 'field-row' },
      parts.text({ at: at('application'), label: 'Application', value: newAsk.application, list: 'whatif-applications', placeholder: 'Active, or new', class: 'field-wide', take: own('application'), typed: (text) => hint('application', text) }),
      parts.text({ at: at('queue'), label: 'If it is new, its queue', value: newAsk.queue, placeholder: 'root.default', take: own('queue') }),
      parts.text({ at: at('key'), label: 'Name', value: newAsk.key, placeholder: 'try', take: own('key') })),
    h('div', { class: 'field-row' }, all.map((kind) => parts.text({
      at: at(kind), label: kindName(kind), title: kind, value: newAsk.amounts[kind] ?? '', placeholder: example(kind), class: 'field-short',
      take: (f, text) => { f.asks[i].amounts[kind] = text; }, wrong: kind === all[0] ? errors.get(at('amounts')) : undefined,
    }))),
    h('div', { class: 'field-row' },
      parts.text({ at: at('count'), label: 'How many', value: newAsk.count, placeholder: '1', class: 'field-short', mode: 'numeric', take: own('count') }),
      parts.text({ at: at('priority'), label: 'Priority', value: newAsk.priority, placeholder: '0', class: 'field-short', take: own('priority') }),
      parts.text({ at: at('node'), label: 'Must run on', value: newAsk.node, list: 'whatif-nodes', placeholder: 'Any node', take: own('node'), typed: (text) => hint('node', text) })));
}

function nodeFields({ form, parts }) {
  const field = (name, label, placeholder, help) => parts.text({ at: `nodes.${name}`, label, value: form.nodes[name], placeholder, help, take: (f, text) => { f.nodes[name] = text; } });
  return h('details', { class: 'card question-card', key: 'nodes', open: form.nodesOpen, ontoggle() { form.nodesOpen = this.open; } },
    h('summary', null, 'With other nodes'),
    field('add', 'Add', 'big:2:vcore=16,memory=64Gi', 'A name, how many, and what each has; a semicolon before the next.'),
    field('drain', 'Drain', 'node-1, node-2', 'They take nothing new; what runs there stays.'),
    field('remove', 'Remove', 'node-3', 'They are gone, and what runs there is asked for anew.'));
}

function configFields({ form, errors, change, useConfig }) {
  const wrong = errors.get('config');
  const lines = [...(wrong ?? '').matchAll(/line (\d+)/g)].map((m) => Number(m[1]));
  return h('details', { class: 'card question-card', key: 'config', open: form.configOpen, ontoggle() { form.configOpen = this.open; } },
    h('summary', null, 'Under another configuration'),
    h('div', { class: 'field' },
      h('label', { for: 'whatif-config', class: 'quiet' }, 'The whole configuration, as YAML. Empty is the one in use.'),
      h('textarea', {
        id: 'whatif-config', rows: 14, spellcheck: 'false', autocomplete: 'off', wrap: 'off', class: 'mono', value: form.config,
        'aria-invalid': wrong ? 'true' : null, 'aria-describedby': wrong ? 'whatif-config-wrong' : null,
        oninput() { const { value } = this; change((f) => { f.config = value; }); },
      }),
      wrong && h('p', { class: 'field-error', id: 'whatif-config-wrong' }, wrong),
      h('div', { class: 'toolbar' },
        h('button', { type: 'button', onclick: useConfig }, 'Begin with the one in use'),
        form.config !== '' && h('button', { type: 'button', onclick: () => change((f) => { f.config = ''; }) }, 'Leave it as it is'),
        lines.length > 0 && h('button', { type: 'button', onclick: () => selectLine(document.getElementById('whatif-config'), lines[0]) }, `Go to line ${lines[0]}`))));
}

function selectLine(area, line) {
  const rows = area.value.split('\n');
  const from = rows.slice(0, line - 1).reduce((sum, row) => sum + row.length + 1, 0);
  area.focus();
  area.setSelectionRange(from, from + (rows[line - 1] ?? '').length);
  area.scrollTop = Math.max(0, (line - 4) * (area.scrollHeight / rows.length));
}

// fields makes fields that know what is wrong with them.
function fields(form, errors, change) {
  return {
    text({ at, label, title, value, placeholder, list, help, mode, class: classes, take, typed, wrong = errors.get(at) }) {
      const id = `whatif-${at.replace(/[^\w]+/g, '-')}`;
      const told = [wrong && `${id}-wrong`, help && `${id}-help`].filter(Boolean).join(' ');
      return h('div', { class: ['field', classes], key: at },
        h('label', { for: id, title }, label),
        h('input', {
          id, type: 'text', value, placeholder, list, inputmode: mode, spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off',
          'aria-invalid': wrong ? 'true' : null, 'aria-describedby': told || null,
          oninput() { const text = this.value; change((f) => take(f, text)); typed?.(text); },
        }),
        wrong && h('p', { class: 'field-error', id: `${id}-wrong` }, wrong),
        help && h('p', { class: 'field-help', id: `${id}-help` }, help));
    },
  };
}
