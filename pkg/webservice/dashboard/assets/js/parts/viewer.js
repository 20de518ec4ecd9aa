// A panel with several views, of which the address says which one is shown.

import { render, state } from '../dom.js';

// createViewer makes what mount of a panel returns. pick(route) returns { key, make }:
// as long as the key stays, the view does. A view is
//
//   load(signal)   reads what it shows
//   show()         the elements for that; asked only after a load, and again when the
//                  address changes
//   unmount()      optional
//
// A view that reads nothing leaves load out. What is returned has paint as well, for
// views that change between two refreshes.
export function createViewer(root, ctx, pick) {
  let view = null, key = null, loaded = false;
  let abort = new AbortController(); // of the load under way
  let detailed = null; // whose details are shown

  function route() {
    const next = pick(ctx.route());
    abort.abort();
    abort = new AbortController();
    if (next.key !== key) {
      const first = key === null;
      view?.unmount?.();
      key = next.key;
      view = next.make();
      loaded = !view.load;
      root.replaceChildren();
      if (!first) { window.scrollTo(0, 0); root.focus({ preventScroll: true }); }
    }
    paint();
    reveal();
    ctx.refresh();
  }

  // reveal brings the details of what was just chosen into sight, which stand above the
  // list where there is little room.
  function reveal() {
    const details = root.querySelector('.split > .details'), whose = details?.dataset.key ?? null;
    if (whose !== detailed && whose !== null && details.getBoundingClientRect().top < 0) details.scrollIntoView({ block: 'start' });
    detailed = whose;
  }

  function paint() { render(root, loaded ? view.show() : state('loading', 'Reading', 'One moment.')); }

  async function refresh(signal) {
    const now = view, own = abort.signal;
    if (!now.load) return;
    try {
      await now.load(AbortSignal.any([signal, own]));
    } catch (err) {
      if (own.aborted && !signal.aborted) return; // something else is asked for by now
      if (now === view && !loaded && err.name !== 'AbortError') render(root, state('error', 'This cannot be read', err.message));
      throw err;
    }
    if (now !== view || own.aborted) return;
    loaded = true;
    paint();
  }

  function escape(event) {
    if (event.key !== 'Escape' || event.defaultPrevented || document.querySelector('dialog[open]')) return;
    if (event.target.closest('input,select,textarea')) return;
    const up = view?.up?.();
    if (up) ctx.go(up);
  }

  document.addEventListener('keydown', escape);
  route();
  return {
    refresh, route, paint,
    unmount() {
      abort.abort();
      document.removeEventListener('keydown', escape);
      view?.unmount?.();
    },
  };
}
