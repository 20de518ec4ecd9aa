// What the tests put into every page before its own scripts run. NOW is the moment
// of the stage in milliseconds.
(() => {
  "use strict";
  // The clock of the page begins at the moment of the stage, so that ages are as
  // they were.
  const Real = Date;
  const offset = NOW - Real.now();
  const now = () => Real.now() + offset;
  globalThis.Date = class extends Real {
    constructor(...args) {
      if (args.length === 0) super(now());
      else super(...args);
    }
    static now() {
      return now();
    }
  };

  const test = { longTasks: [], since: 0 };
  // Tasks that keep the page from answering for more than 50 ms, as the browser
  // defines them.
  try {
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) {
        if (e.startTime >= test.since) test.longTasks.push(Math.round(e.duration));
      }
    }).observe({ type: "longtask", buffered: true });
  } catch {
    test.longTasks = null;
  }
  // forget begins a new count of long tasks.
  test.forget = () => {
    test.since = performance.now();
    test.longTasks.length = 0;
  };

  // until waits until a question has an answer that is true. It is asked again whenever
  // something changes on the page, and now and then: not all that is asked about is an
  // element.
  test.until = (question, what, patience) =>
    new Promise((resolve, reject) => {
      let last, over = false;
      const observer = new MutationObserver(() => ask());
      const end = (settle, value) => {
        over = true;
        observer.disconnect();
        clearInterval(now);
        clearTimeout(limit);
        settle(value);
      };
      const ask = () => {
        if (over) return;
        try {
          const answer = question();
          if (answer) end(resolve, answer);
        } catch (e) {
          last = e;
        }
      };
      const limit = setTimeout(() => {
        ask();
        if (!over) end(reject, new Error(`waited ${patience} ms for ${what}${last ? `; ${last}` : ""}`));
      }, patience);
      observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
      const now = setInterval(ask, 40);
      ask();
    });

  // frames waits until the page has been drawn some times more.
  test.frames = async (n) => {
    for (; n > 0; n--) await new Promise((resolve) => requestAnimationFrame(resolve));
  };

  // seen reports whether people can see an element.
  test.seen = (e) => {
    if (!e || !e.isConnected) return false;
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && e.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  };

  // all is every element of a selector that can be seen, and one the first of those
  // whose text has the words.
  test.all = (selector) => [...document.querySelectorAll(selector)].filter(test.seen);
  test.one = (selector, words = "") => test.all(selector).find((e) => e.textContent.includes(words));

  // rest makes the page one that is not looked at, as in a tab behind another, until it is no more:
  // it refreshes nothing meanwhile.
  let resting = false;
  Object.defineProperty(document, "hidden", { get: () => resting });
  test.rest = (yes) => { resting = yes; };

  globalThis.__test = test;
})();
