import { render, state } from '../dom.js';

export default {
  id: 'queues',
  title: 'Queues',
  mount(root) {
    render(root, state('empty', 'Queues', 'Use REST for now.'));
    return { refresh() {}, unmount() {} };
  },
};
