// What the metrics say that REST has no place for. Of the text only the lines of a
// few series are looked at.

const wanted = ['narwhal_placements_total', 'narwhal_partition_resource', 'narwhal_nodes_by_usage', 'narwhal_preemption_victims_total'];

// readMetrics resolves to { placements, occupied, usage, victims, outcomes } of a partition,
// or to null if the server has no metrics. Occupied is what other schedulers use by kind,
// usage how many nodes are how full by kind, victims how many were evicted by trigger,
// and outcomes are [{ trigger, class, requested, ended, overdue }] of those of which there are any.
export async function readMetrics(ctx, signal) {
  let text;
  try {
    ({ data: text } = await ctx.api.get('metrics', { signal, text: true }));
  } catch (err) {
    if (err.status === 404) return null;
    throw err;
  }
  const out = { placements: 0, occupied: {}, usage: {}, victims: {}, outcomes: [] };
  for (const { name, labels, value } of series(text)) {
    if (!isOf(labels.partition, ctx.partition())) continue;
    if (name === 'narwhal_placements_total') out.placements += value;
    else if (name === 'narwhal_partition_resource' && labels.state === 'occupied') out.occupied[labels.resource] = value;
    else if (name === 'narwhal_nodes_by_usage') (out.usage[labels.resource] ??= []).push({ range: labels.range, nodes: value });
    else if (name === 'narwhal_preemption_victims_total') {
      if (labels.outcome === 'requested') out.victims[labels.trigger] = (out.victims[labels.trigger] ?? 0) + value;
      if (value > 0) outcomeOf(out.outcomes, labels)[labels.outcome] = value;
    }
  }
  return out;
}

function outcomeOf(outcomes, labels) {
  const [trigger, kind] = [labels.trigger, labels.class].map((name) => name.replaceAll('_', ' '));
  let outcome = outcomes.find((f) => f.trigger === trigger && f.class === kind);
  if (!outcome) outcomes.push(outcome = { trigger, class: kind });
  return outcome;
}

// isOf says whether a label means the partition: labels begin with the resource manager.
function isOf(label, partition) { return label === partition || label?.slice(label.indexOf(']') + 1) === partition; }

function* series(text) {
  for (const line of text.split('\n')) {
    const at = line.indexOf('{');
    if (at < 0 || !wanted.includes(line.slice(0, at))) continue;
    const labels = {};
    for (const [, name, value] of line.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)) {
      labels[name] = value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));
    }
    yield { name: line.slice(0, at), labels, value: Number(line.slice(line.lastIndexOf(' ') + 1)) };
  }
}
