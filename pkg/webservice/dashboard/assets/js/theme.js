// The theme is set before anything is painted, so that the page does not flash.
// This is no module, since those run late.
(() => {
  let kept = null;
  try { kept = localStorage.getItem('narwhal.theme'); } catch { /* storage may be forbidden */ }
  if (kept === 'dark' || kept === 'light') document.documentElement.dataset.theme = kept;
})();
