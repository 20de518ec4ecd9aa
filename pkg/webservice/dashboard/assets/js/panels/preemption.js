import { render, state } from '../dom.js';

export default {
  id: 'preemption',
  title: 'Preemption',
  mount(root) {
    render(root, state('empty', 'Preemption', 'Use REST for now.'));
    return { refresh() {}, unmount() {} };
  },
};
