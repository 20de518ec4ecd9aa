// What REST says in words, with its quantities written as people read them.

import { amounts } from '../format.js';

const quantities = /[\w./-]+=-?\d+(?: [\w./-]+=-?\d+)*/g;

// readable writes quantities in a text as the rest of the page does:
// "needs vcore=1500 memory=1024" becomes "needs vcore 1.5 · memory 1.0 KiB".
export function readable(text) {
  return (text ?? '').replace(quantities, (run) => amounts(Object.fromEntries(
    run.split(' ').map((one) => {
      const at = one.lastIndexOf('=');
      return [one.slice(0, at), Number(one.slice(at + 1))];
    }),
  )));
}

// classes are what a pod is, in the words of REST and in those of people.
export const classes = {
  regular: 'Regular', daemonset: 'Of daemonsets', placeholder: 'Placeholders', owner: 'Drivers and owners', foreign: 'Of other schedulers', 'opted out': 'Opted out of preemption',
};

// Asks and victims have some of them each.
export const askClasses = ['regular', 'daemonset', 'placeholder', 'owner', 'opted out'];
export const victimClasses = ['regular', 'owner', 'foreign', 'opted out'];

// classOptions are classes to choose from, and any.
export function classOptions(any, names) { return [['', any], ...names.map((name) => [name, classes[name]])]; }

// capital is a text with a large letter at its start, unless it begins with a name such as nvidia.com/gpu.
export function capital(text) { return text === '' || /^\S*\//.test(text) ? text : text[0].toUpperCase() + text.slice(1); }
