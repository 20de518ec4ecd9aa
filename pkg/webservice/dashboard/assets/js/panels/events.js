import { render, state } from '../dom.js';

export default {
  id: 'events',
  title: 'Events',
  mount(root) {
    render(root, state('empty', 'Events', 'Use REST for now.'));
    return { refresh() {}, unmount() {} };
  },
};
