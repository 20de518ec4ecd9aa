// Users and groups: what each has in which queue, what its limits are, and what waits there.
//
//   #/users               users; ?text=, sort=, offset=
//   #/users?view=groups   groups
import { h, pager, state } from '../dom.js';
import * as format from '../format.js';
import { createFilters, beginsWith, offsetOf } from '../parts/filters.js';
import { kindChooser } from '../parts/kindchoice.js';
import { subtabs } from '../parts/links.js';
import { limitsTable } from '../parts/limitstable.js';
import { createViewer } from '../parts/viewer.js';

const pageSize = 50;

const views = {
  users: {
    noun: 'users', field: 'userName', filter: 'user', label: 'User begins with', title: 'No user has anything',
    text: 'Users appear here when something of theirs runs or waits.',
  },
  groups: {
    noun: 'groups', field: 'groupName', filter: 'group', label: 'Group begins with', title: 'No group has anything',
    text: 'Groups appear here when something of their users waits, or if the configuration limits them and they have applications.',
  },
};

export default {
  id: 'users',
  title: 'Users',
  mount: (root, ctx) => createViewer(root, ctx, ({ query }) => {
    const view = query.get('view') === 'groups' ? 'groups' : 'users';
    return { key: view, make: () => ownerList(ctx, view) };
  }),
};

function ownerList(ctx, view) {
  const { noun, field, filter, label, title, text } = views[view];
  const filters = createFilters(ctx, 'users');
  let owners = [], total = 0;

  async function load(signal) {
    const { query } = ctx.route();
    const params = {
      [filter]: beginsWith(query.get('text')), sort: query.get('sort') || '-limitPercent', limit: pageSize, offset: offsetOf(query),
      fields: `${field},limitPercent,queues`,
    };
    const { data, total: all } = await ctx.api.get(ctx.api.path('partition', ctx.partition(), 'usage', view), { params, signal });
    owners = data.map((one) => ({ name: one[field], percent: one.limitPercent ?? 0, root: one.queues }));
    total = all;
  }

  function show() {
    const { query } = ctx.route();
    const sort = { by: query.get('sort') || '-limitPercent', onsort: (by) => filters.change({ sort: by }) };
    return [
      h('div', { class: 'toolbar' }, h('h1', null, 'Users'),
        subtabs(ctx, 'users', 'Users or groups', view, [['users', 'Users', {}], ['groups', 'Groups', { view: 'groups' }]]),
        h('span', { class: 'quiet' }, 'What each has in which queue and what waits there, those over a limit first')),
      h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Filter' }, filters.fields({ name: 'text', kind: 'search', label }), kindChooser(format.known(), ctx.refresh)),
      owners.length === 0 && offsetOf(query) === 0 ? nothing(query)
        : h('div', { class: 'card' }, limitsTable(ctx, { view, field, owners, sort }),
          pager({ offset: offsetOf(query), limit: pageSize, total, onpage: filters.page, noun })),
    ];
  }

  function nothing(query) {
    if (!query.get('text')) return state('empty', title, text);
    return state('empty', 'No name begins so', 'Nothing fits what is typed above.',
      h('a', { class: 'button', href: ctx.link('users', [], { view: view === 'users' ? '' : view }) }, 'Show all'));
  }

  return { load, show, unmount: filters.stop };
}
