// The dialogs of the page: the token and the help.
import { h } from './dom.js';

// askToken asks for the token of the server and resolves to it, or to null if the
// reader closes the dialog. Wrong says that there was one that does not fit.
export function askToken(wrong) {
  return new Promise((resolve) => {
    const field = h('input', {
      type: 'password', name: 'token', autocomplete: 'off', spellcheck: 'false', required: true, id: 'token',
      'aria-describedby': 'token-note', 'aria-invalid': wrong ? 'true' : null,
    });
    let given = null;
    const dialog = h('dialog', { class: 'dialog', id: 'token-dialog', 'aria-labelledby': 'token-title' },
      h('h2', { id: 'token-title' }, 'This scheduler asks for a token'),
      h('p', { id: 'token-note', class: wrong && 'bad-text' }, wrong ? 'The token that was given is not the right one.'
        : 'It is kept until this tab is closed, and sent to this server only.'),
      h('label', { for: 'token' }, 'Token'), field,
      h('div', { class: 'dialog-end' },
        h('button', { type: 'button', onclick: () => dialog.close() }, 'Not now'),
        h('button', { type: 'button', class: 'primary', id: 'token-send', onclick: send }, 'Go on')));
    function send() {
      const value = field.value.trim();
      if (value === '') { field.focus(); return; }
      given = value;
      dialog.close();
    }
    field.addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); send(); } });
    dialog.addEventListener('close', () => { dialog.remove(); resolve(given); });
    document.body.append(dialog);
    dialog.showModal();
    field.focus();
  });
}

// keyOf is the key of a panel by its place: the digit, and 0 for the tenth.
export const keyOf = (i) => String((i + 1) % 10);

// createHelp makes the help, which lists the keys.
export function createHelp(panels) {
  const key = (keys, text) => h('div', null, h('dt', null, keys.map((k) => h('kbd', null, k))), h('dd', null, text));
  const dialog = h('dialog', { class: 'dialog', id: 'help', 'aria-labelledby': 'help-title' },
    h('h2', { id: 'help-title' }, 'Keys'),
    h('dl', { class: 'keys' },
      panels.map((p, i) => key([keyOf(i)], p.title)),
      key(['/'], 'Search in the panel'),
      key(['r'], 'Read again now'),
      key(['t'], 'Theme: as the system, dark, light'),
      key(['↑', '↓', '←', '→'], 'Move in the queue tree and on the node map; → and ← open and close a queue'),
      key(['Home', 'End'], 'First and last'),
      key(['+', '-'], 'Larger or smaller cells on the node map'),
      key(['Enter'], 'Open the details'),
      key(['Esc'], 'Close the details or a dialog'),
      key(['?'], 'This help')),
    h('h2', null, 'Colours and shapes'),
    h('ul', { class: 'legend legend-column' },
      ...[['own', 'used by this scheduler'], ['daemon', 'of that, by daemonsets'], ['foreign', 'used by other schedulers'],
        ['nominated', 'nominated: room is being made'], ['evicting', 'evicting: has not ended yet']]
        .map(([tone, text]) => h('li', null, h('span', { class: ['swatch', `fill-${tone}`] }), text))),
    h('p', { class: 'quiet' }, 'Nothing on this page changes the cluster.'),
    h('div', { class: 'dialog-end' }, h('button', { type: 'button', class: 'primary', onclick: () => dialog.close() }, 'Close')));
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  return { open: () => { if (!dialog.open) dialog.showModal(); } };
}
