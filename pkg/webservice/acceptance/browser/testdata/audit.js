// What all people can use, looked at as a program can. Each function returns what is
// wrong, as texts.
(() => {
  "use strict";
  const t = globalThis.__test;
  const audit = {};

  const told = (e) => {
    const name = e.id ? `#${e.id}` : e.className && typeof e.className === "string" ? `.${e.className.trim().split(/\s+/).join(".")}` : "";
    return `<${e.localName}${name}> ${JSON.stringify(e.textContent.trim().replace(/\s+/g, " ").slice(0, 40))}`;
  };

  const controls = 'a[href],button,input,select,textarea,summary,[tabindex]:not([tabindex="-1"]),[role=button],[role=link],[role=tab],[role=treeitem]';

  // small are the controls that a finger would miss. A link in the middle of a
  // sentence is as high as its line, and a label belongs to its field.
  audit.small = (least = 24) => {
    const wrong = [];
    for (const e of t.all(controls)) {
      if (e.matches(":disabled") || e.closest(".unseen,.skip")) continue;
      const inText = getComputedStyle(e).display === "inline" && [...e.parentNode.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== "");
      if (inText) continue;
      const box = (e.matches("input[type=checkbox],input[type=radio]") && e.closest("label") || e).getBoundingClientRect();
      if (box.width < least - 0.01 || box.height < least - 0.01) wrong.push(`${told(e)} is ${box.width.toFixed(1)} by ${box.height.toFixed(1)} pixels`);
    }
    return wrong;
  };

  // wide are the elements that make the page scroll sideways.
  audit.wide = () => {
    const root = document.documentElement;
    if (root.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth) return [];
    const scrolls = (e) => e && e !== root && e !== document.body && (getComputedStyle(e).overflowX !== "visible" || scrolls(e.parentElement));
    const wrong = t.all("body *").filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5 && !scrolls(e.parentElement))
      .map((e) => `${told(e)} ends at ${e.getBoundingClientRect().right.toFixed(0)} of ${innerWidth}`);
    return [`the page is ${root.scrollWidth} pixels wide, ${innerWidth} is all there is`, ...wrong.slice(0, 10)];
  };

  // overlapping are texts that lie on others. Those of a picture, of what is cut off and of
  // what stands above the page do not count.
  audit.overlapping = () => {
    const boxes = [];
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    for (let n = walker.nextNode(); n; n = walker.nextNode()) {
      const e = n.parentElement;
      if (n.data.trim() === "" || !t.seen(e) || e.closest(".unseen,option,select,.tip,.chooser-menu,.virtual") || e instanceof SVGElement) continue;
      const range = document.createRange();
      range.selectNodeContents(n);
      for (const box of range.getClientRects()) {
        let { left, right } = box;
        for (let up = e; up && up !== document.body; up = up.parentElement) {
          if (getComputedStyle(up).overflowX === "visible") continue;
          const edge = up.getBoundingClientRect();
          left = Math.max(left, edge.left);
          right = Math.min(right, edge.right);
        }
        if (right - left > 1) boxes.push({ e, left, right, top: box.top + 3, bottom: box.bottom - 3 });
      }
    }
    boxes.sort((a, b) => a.top - b.top);
    const wrong = [];
    for (let i = 0; i < boxes.length; i++) {
      for (let k = i + 1; k < boxes.length && boxes[k].top < boxes[i].bottom; k++) {
        const a = boxes[i], b = boxes[k];
        if (a.e !== b.e && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5) wrong.push(`${told(a.e)} lies on ${told(b.e)}`);
      }
    }
    return wrong.slice(0, 10);
  };

  // cut are tables that are wider than the room that they have.
  audit.cut = () => t.all("main .table-wrap").filter((e) => e.scrollWidth > e.clientWidth + 1)
    .map((e) => `${told(e)} is ${e.scrollWidth} pixels wide and has ${e.clientWidth}`);

  // charts are those that end outside the window, or are too narrow to be read.
  audit.charts = () => t.all("main .chart, main .chart svg, main .chart-legend").map((e) => [e, e.getBoundingClientRect()])
    .filter(([, box]) => box.right > innerWidth + 1 || box.width < 200)
    .map(([e, box]) => `${told(e)} is ${box.width.toFixed(0)} pixels wide and ends at ${box.right.toFixed(0)} of ${innerWidth}`);

  // below are the cells of a table that became a list of which a part is below its head, not
  // beside it.
  audit.below = () => {
    const wrong = [];
    for (const cell of t.all("main .stacking td[data-head]")) {
      if (getComputedStyle(cell).display === "table-cell" || getComputedStyle(cell, "::before").content === "none") continue;
      const range = document.createRange();
      range.selectNodeContents(cell);
      if ([...range.getClientRects()].some((box) => box.width > 0 && box.left < cell.getBoundingClientRect().left + 90)) wrong.push(told(cell));
    }
    return wrong;
  };

  // rgba is any colour as four numbers from 0 to 1.
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
      known.set(colour, [...pen.getImageData(0, 0, 1, 1).data].map((v) => v / 255));
    }
    return known.get(colour);
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [dark, bright] = [light(a), light(b)].sort((x, y) => x - y);
    return (bright + 0.05) / (dark + 0.05);
  };

  // ground is the colour behind an element, or null if that is a picture.
  const ground = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.backgroundImage !== "none") return null;
      const colour = rgba(style.backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduceRight((below, top) => over(top, below), [1, 1, 1, 1]);
  };

  // faint are the texts that are hard to read, those in fields included.
  audit.faint = () => {
    const wrong = new Set();
    const written = new Set(document.querySelectorAll("select,textarea,input:not([type=checkbox],[type=radio])"));
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let n = walker.nextNode(); n; n = walker.nextNode()) {
      if (n.data.trim() !== "") written.add(n.parentElement);
    }
    for (const e of written) {
      if (!t.seen(e) || e.closest(":disabled,.unseen,noscript,script,[aria-disabled=true]") || e instanceof SVGElement) continue;
      const behind = ground(e);
      if (!behind) continue;
      const style = getComputedStyle(e);
      let opacity = 1;
      for (let at = e; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
      const ink = [...rgba(style.color)];
      ink[3] *= opacity;
      const size = parseFloat(style.fontSize);
      const enough = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
      const ratio = contrast(over(ink, behind), behind);
      if (ratio < enough - 0.005) wrong.add(`${told(e)} has a contrast of ${ratio.toFixed(2)}, ${enough} is the least`);
    }
    return [...wrong];
  };

  // tokens are the colours for text on the colours that may be behind it.
  audit.tokens = (inks, grounds) => {
    const probe = document.body.appendChild(document.createElement("p"));
    const colour = (name) => {
      probe.style.setProperty("color", `var(${name})`);
      return rgba(getComputedStyle(probe).color);
    };
    const wrong = [];
    for (const ink of inks) {
      for (const behind of grounds) {
        const ratio = contrast(colour(ink), colour(behind));
        if (!(ratio >= 4.5)) wrong.push(`${ink} on ${behind} has a contrast of ${ratio.toFixed(2)}`);
      }
    }
    probe.remove();
    return wrong;
  };

  // focused describes where the keyboard is, and what is wrong with that. After the
  // last stop comes the browser itself; one without a window soon begins anew.
  let first = null, before = null;
  audit.forget = () => { first = before = null; };
  audit.focused = () => {
    const e = document.activeElement;
    if (!e || e === document.body || e === document.documentElement || e === first) {
      first = before = null;
      return { end: true, told: "", wrong: [] };
    }
    first ??= e;
    const wrong = [];
    if (!t.seen(e)) wrong.push(`${told(e)} has the focus and cannot be seen`);
    const style = getComputedStyle(e);
    if (style.outlineStyle === "none" && style.boxShadow === "none") wrong.push(`${told(e)} does not show that it has the focus`);
    if (before && !(before.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)) wrong.push(`${told(e)} comes after ${told(before)}`);
    if (e.tabIndex > 0) wrong.push(`${told(e)} has a place of its own in the order`);
    const box = e.getBoundingClientRect();
    if (box.bottom < 0 || box.top > innerHeight || box.right < 0 || box.left > innerWidth) wrong.push(`${told(e)} has the focus outside the window`);
    before = e;
    return { end: false, told: told(e), wrong };
  };

  t.audit = audit;
})();
