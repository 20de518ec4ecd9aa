// What is filled in as a what-if, checked and made into a question for REST.

import { example, readAmount, writeAmount } from './amounts.js';
import { readNodes, writeNodes } from './questionnodes.js';

const asksMax = 1000;
const withinMax = 3600; // seconds

const seconds = { ns: 1e-9, us: 1e-6, 'µs': 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };

// emptyAsk is an ask that is not filled in.
export function emptyAsk() { return { key: 'try', application: '', queue: '', amounts: {}, priority: '', count: '', node: '' }; }

// readDuration reads "30s" or "1h30m" as seconds; NaN is none that can be meant.
export function readDuration(text) {
  if (!/^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/.test(text)) return text === '0' ? 0 : NaN;
  return [...text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)].reduce((sum, [, n, unit]) => sum + Number(n) * seconds[unit], 0);
}

// readQuestion makes the question and says what is wrong with it: errors has a text for
// each field, as 'asks[0].application', 'within', 'config' or '' for the whole.
export function readQuestion(form) {
  const errors = new Map(), asks = [];
  form.asks.forEach((newAsk, i) => {
    const ask = readAsk(newAsk, (field, text) => errors.set(`asks[${i}].${field}`, text));
    asks.push(ask);
  });
  const total = asks.reduce((sum, ask) => sum + (ask.count ?? 1), 0);
  if (total > asksMax) errors.set('', `These are ${total} asks; a question has ${asksMax} at most.`);
  const keys = form.asks.map((newAsk) => newAsk.key.trim());
  keys.forEach((key, i) => { if (key && keys.indexOf(key) < i) errors.set(`asks[${i}].key`, 'Two asks cannot have one name.'); });
  const body = {}, within = form.within.trim();
  if (within !== '' && !(readDuration(within) <= withinMax)) errors.set('within', 'A time of an hour at most, such as 30s, 10m or 1h.');
  const applications = newApplications(form, errors);
  if (applications.length > 0) body.applications = applications;
  if (asks.length > 0) body.asks = asks;
  const nodes = readNodes(form.nodes, (field, text) => errors.set(`nodes.${field}`, text));
  if (nodes) body.nodes = nodes;
  if (within !== '') body.within = within;
  if (form.config.trim() !== '') body.config = form.config;
  if (!body.asks && !body.nodes && !body.config) errors.set('', 'Add an ask, a change of nodes, or a configuration.');
  return { body, errors };
}

// newApplications are those of the asks that say a queue: they are not there yet.
function newApplications(form, errors) {
  const queues = new Map();
  form.asks.forEach((newAsk, i) => {
    const id = newAsk.application.trim(), queue = newAsk.queue.trim();
    if (queue === '') return;
    if (id === '') errors.set(`asks[${i}].application`, 'A new application needs a name.');
    else if ((queues.get(id) ?? queue) !== queue) errors.set(`asks[${i}].queue`, `Another ask has ${id} in ${queues.get(id)}.`);
    else queues.set(id, queue);
  });
  return [...queues].map(([applicationId, queueName]) => ({ applicationId, queueName }));
}

function readAsk(newAsk, wrong) {
  const ask = { allocationKey: newAsk.key.trim(), applicationId: newAsk.application.trim(), resource: {} };
  if (ask.allocationKey === '') wrong('key', 'It needs a name.');
  if (ask.applicationId === '') wrong('application', 'An ask belongs to an application.');
  for (const [kind, text] of Object.entries(newAsk.amounts)) {
    if (text.trim() === '') continue;
    const value = readAmount(kind, text);
    if (value === null) wrong(kind, `${text.trim()} is no quantity. Write ${example(kind)}.`);
    else if (value > 0) ask.resource[kind] = value;
  }
  if (Object.keys(ask.resource).length === 0 && Object.values(newAsk.amounts).every((text) => text.trim() === '')) wrong('amounts', 'Say how much it asks for.');
  whole(newAsk.priority, -(2 ** 31), 2 ** 31 - 1, (value) => { ask.priority = value; }, (text) => wrong('priority', text));
  whole(newAsk.count, 1, asksMax, (value) => { ask.count = value; }, (text) => wrong('count', text));
  if (newAsk.node.trim() !== '') ask.requiredNodeId = newAsk.node.trim();
  return ask;
}

function whole(text, min, max, take, wrong) {
  const clean = String(text).trim().replace('−', '-');
  if (clean === '') return;
  const value = Number(clean);
  if (!Number.isInteger(value) || value < min || value > max) wrong(`A whole number from ${min} to ${max}.`);
  else take(value);
}

// readFailure finds the field that an answer of REST is about: [field, text].
export function readFailure(message, form) {
  const ask = /^asks\[(\d+)\]: ([^]*)$/.exec(message);
  if (ask) {
    const kind = Object.keys(form.asks[ask[1]]?.amounts ?? {}).find((name) => ask[2].startsWith(`${name} `) || ask[2].includes(`"${name}"`));
    const field = kind ?? (ask[2].startsWith('count') ? 'count' : ask[2].startsWith('allocationKey') ? 'key' : 'amounts');
    return [`asks[${ask[1]}].${field}`, ask[2]];
  }
  const node = /^nodes\.(add|drain|remove)(?:\[\d+\])?: ([^]*)$/.exec(message);
  if (node) return [`nodes.${node[1]}`, node[2]];
  const unknown = /^node (\S+) is not registered/.exec(message);
  if (unknown) return [form.nodes.remove.includes(unknown[1]) ? 'nodes.remove' : 'nodes.drain', message];
  const named = /^(within|config): ([^]*)$/.exec(message);
  if (named) return [named[1], named[2]];
  return message.startsWith('configuration: ') ? ['config', message.slice('configuration: '.length)] : ['', message];
}

function queueOf(body, application) {
  return (body.applications ?? []).find((one) => one.applicationId === application)?.queueName ?? '';
}

// formOf is the form for a question, such as one in an address.
export function formOf(body) {
  return {
    asks: (body.asks ?? []).map((ask) => ({
      key: ask.allocationKey ?? 'try', application: ask.applicationId ?? '', queue: queueOf(body, ask.applicationId), node: ask.requiredNodeId ?? '',
      priority: ask.priority === undefined ? '' : String(ask.priority), count: ask.count === undefined ? '' : String(ask.count),
      amounts: Object.fromEntries(Object.entries(ask.resource ?? {}).map(([kind, value]) => [kind, writeAmount(kind, value)])),
    })),
    nodes: writeNodes(body.nodes), nodesOpen: Boolean(body.nodes),
    within: body.within ?? '', config: body.config ?? '', configOpen: Boolean(body.config),
  };
}
