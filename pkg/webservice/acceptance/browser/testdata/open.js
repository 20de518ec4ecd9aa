// open lets time pass in a page that stays open: the pause between two refreshes is over at
// once, and the clock says that it was not. It resolves when so many refreshes are over, to
// the milliseconds that passed. Nothing is laid out meanwhile, which takes most of the time
// and leaves nothing behind that the page holds.
async (refreshes) => {
  "use strict";
  const later = setTimeout, clock = performance.now.bind(performance), Before = Date;
  let passed = 0, left = refreshes, over;
  const ended = new Promise((resolve) => { over = resolve; });
  performance.now = () => clock() + passed;
  globalThis.Date = class extends Before {
    constructor(...args) {
      if (args.length === 0) super(Before.now() + passed);
      else super(...args);
    }
    static now() {
      return Before.now() + passed;
    }
  };
  globalThis.setTimeout = (run, ms, ...args) => {
    if (!(ms >= 1000)) return later(run, ms, ...args);
    if (left-- <= 0) {
      over();
      return later(run, ms, ...args);
    }
    passed += ms;
    return later(run, 0, ...args);
  };
  document.body.style.display = "none";
  document.getElementById("freshness").click();
  await ended;
  document.body.style.display = "";
  globalThis.setTimeout = later;
  return passed;
}
