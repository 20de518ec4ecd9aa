// The queues to choose from, each with its distance from the root.

import { nameOf, walk } from './shares.js';

const lasting = 30000; // milliseconds; queues seldom come and go

let known = { at: 0, partition: '', options: [] };

// readQueues resolves to [path, text] of all queues, the root first.
export async function readQueues(ctx, signal) {
  const fresh = performance.now() - known.at < lasting && known.partition === ctx.partition() && known.options.length > 0;
  if (fresh) return known.options;
  const { data } = await ctx.api.get(ctx.api.path('partition', ctx.partition(), 'queues'), { params: { fields: 'queuename,children' }, signal });
  const options = [];
  walk(data, (queue, depth) => options.push([queue.queuename, `${'  '.repeat(depth)}${nameOf(queue.queuename)}`]));
  known = { at: performance.now(), partition: ctx.partition(), options };
  return options;
}
