import { render, state } from '../dom.js';

export default {
  id: 'nodes',
  title: 'Nodes',
  mount(root) {
    render(root, state('empty', 'Nodes', 'Use REST for now.'));
    return { refresh() {}, unmount() {} };
  },
};
