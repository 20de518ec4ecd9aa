import { render, state } from '../dom.js';

export default {
  id: 'whatif',
  title: 'What if',
  mount(root) {
    render(root, state('empty', 'What if', 'Use REST for now.'));
    return { refresh() {}, unmount() {} };
  },
};
