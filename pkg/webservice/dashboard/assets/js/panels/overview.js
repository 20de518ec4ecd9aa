import { h, render } from '../dom.js';
import { amounts } from '../format.js';

export default {
  id: 'overview',
  title: 'Overview',
  mount(root, ctx) {
    return {
      async refresh(signal) {
        const { data } = await ctx.api.get('partitions', { signal });
        render(root, data.map((p) => h('p', null, `${p.name}: ${amounts(p.capacity.capacity)}`)));
      },
      unmount() {},
    };
  },
};
