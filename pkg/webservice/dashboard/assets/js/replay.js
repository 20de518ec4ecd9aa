// The moment of a recording that is shown: where it is, a slider over all of it, and steps. All readers see the same moment.
import { h, render } from './dom.js';

const minute = 60000;
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

// createReplay shows the moment in an element. moved() is called when it is another than before, failed(err) when it cannot be moved.
export function createReplay(root, api, { moved, failed }) {
  let now = null;
  let busy = false;

  function take(next) {
    const isOther = now && ['at', 'step', 'file'].some((name) => now[name] !== next[name]);
    now = next;
    show();
    if (isOther) moved();
  }

  async function go(to) {
    if (busy) return;
    busy = true;
    show();
    try {
      const { data } = await api.post('replay', to);
      busy = false;
      take(data);
    } catch (err) {
      failed(err);
    } finally {
      busy = false;
      show();
    }
  }

  function goTime(ms) { go({ at: new Date(Math.min(Math.max(ms, Date.parse(now.from)), Date.parse(now.to))).toISOString() }); }

  function show() {
    const from = Date.parse(now.from), at = Date.parse(now.at), to = Date.parse(now.to);
    const button = (text, label, act) => h('button', { key: label, type: 'button', disabled: busy, title: label, onclick: act }, text);
    root.hidden = false;
    render(root,
      button('−1 min', 'A minute back', () => goTime(at - minute)),
      button('−1 step', 'A step back', () => go({ steps: -1 })),
      h('input', {
        key: 'moment', type: 'range', min: 0, max: Math.max(to - from, 1), step: 'any', value: at - from, disabled: busy, 'aria-label': 'Moment',
        'aria-valuetext': clock.format(at), onchange(event) { goTime(from + Number(event.target.value)); },
        oninput(event) { root.querySelector('time').textContent = clock.format(from + Number(event.target.value)); },
      }),
      button('+1 step', 'A step on', () => go({ steps: 1 })),
      button('+1 min', 'A minute on', () => goTime(at + minute)),
      h('time', { key: 'time', datetime: now.at }, clock.format(at)),
      h('span', { key: 'step', class: 'quiet', title: now.file }, `step ${now.step}`));
  }

  return {
    async read() {
      if (busy) return;
      const { data } = await api.get('replay');
      if (!busy) take(data);
    },
  };
}
