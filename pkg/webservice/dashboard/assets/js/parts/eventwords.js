// The numbers of the scheduler interface in words: what an event is about, what
// changed, and in what way. An event reads as a sentence that begins with its
// object; {ref} is what it refers to.

export const types = {
  0: { name: 'other', of: 'something' },
  1: { name: 'ask', of: 'ask or allocation' },
  2: { name: 'application', of: 'application' },
  3: { name: 'node', of: 'node' },
  4: { name: 'queue', of: 'queue' },
  5: { name: 'user', of: 'user or group' },
};

export const changes = { 0: 'says', 1: 'changed', 2: 'added', 3: 'removed' };

const NONE = 0;
const SET = 1;
const ADD = 2;
const REMOVE = 3;

// By detail, then by change. What is not here is said by its numbers.
const sentences = {
  100: { [REMOVE]: 'no longer asks for {ref}' },
  101: { [REMOVE]: 'got what {ref} asked for' },
  102: { [REMOVE]: 'waited too long for {ref}' },
  200: { [ADD]: 'runs {ref}', [REMOVE]: 'no longer runs {ref}' },
  201: { [ADD]: 'asks for {ref}', [REMOVE]: 'no longer asks for {ref}' },
  202: { [SET]: 'was refused' },
  203: { [ADD]: 'is new' },
  204: { [SET]: 'is accepted' },
  206: { [SET]: 'is running' },
  207: { [SET]: 'is completing' },
  208: { [SET]: 'is completed' },
  209: { [SET]: 'is failing' },
  210: { [SET]: 'has failed' },
  211: { [SET]: 'is resuming' },
  212: { [SET]: 'has expired' },
  213: { [NONE]: 'has to wait: its queue runs as many as it may' },
  214: { [NONE]: 'may run: its queue has a place' },
  215: { [NONE]: 'has to wait: its user or group runs as many as it may' },
  216: { [NONE]: 'may run: its user or group has a place' },
  300: { [REMOVE]: 'was removed' },
  302: { [SET]: 'changed whether it takes anything new' },
  303: { [ADD]: 'runs {ref}', [REMOVE]: 'no longer runs {ref}' },
  304: { [SET]: 'changed its capacity' },
  305: { [SET]: 'changed what others occupy' },
  306: { [ADD]: 'is kept for {ref}', [REMOVE]: 'is no longer kept for {ref}' },
  400: { [SET]: 'was configured anew', [ADD]: 'is configured', [REMOVE]: 'is no longer configured' },
  401: { [ADD]: 'was made for an application', [REMOVE]: 'is empty and was removed' },
  402: { [SET]: 'became of another kind' },
  403: { [SET]: 'has another max' },
  404: { [SET]: 'has another guarantee' },
  405: { [ADD]: 'has application {ref}', [REMOVE]: 'no longer has application {ref}' },
  406: { [ADD]: 'runs {ref}', [REMOVE]: 'no longer runs {ref}' },
  407: { [SET]: 'evicts what is over its max' },
  500: { [REMOVE]: 'no longer runs {ref}: it ended' },
  501: { [REMOVE]: 'no longer runs {ref}: it was preempted' },
  502: { [REMOVE]: 'no longer runs {ref}: its time was up' },
  503: { [REMOVE]: 'no longer runs {ref}: its place was taken' },
  504: { [REMOVE]: 'no longer runs {ref}: its node was removed' },
  600: { [SET]: 'has another limit as a user', [REMOVE]: 'has no limit as a user' },
  601: { [SET]: 'has another limit as a group', [REMOVE]: 'has no limit as a group' },
  602: { [SET]: 'is the group of {ref}', [REMOVE]: 'is no longer the group of {ref}' },
  603: { [ADD]: 'uses more, as a user', [REMOVE]: 'uses less, as a user' },
  604: { [ADD]: 'uses more, as a group', [REMOVE]: 'uses less, as a group' },
};

// Of asks and allocations the object is the key, so the same details read in
// another way, and the reference of a nomination is a node.
const asksSentences = {
  306: { [ADD]: 'gets room on {ref}', [REMOVE]: 'gets no room on {ref} any more' },
  501: { [REMOVE]: 'is evicted' },
};

const plain = { [NONE]: 'says', [SET]: 'changed', [ADD]: 'is new', [REMOVE]: 'was removed' };

// sentenceOf is what an event says, split at {ref}: [before, after]. There is
// no reference in a sentence of one part.
export function sentenceOf(event) {
  const detail = event.eventChangeDetail ?? 0;
  const change = event.eventChangeType ?? 0;
  const own = event.type === 1 ? asksSentences[detail]?.[change] : undefined;
  const known = own ?? sentences[detail]?.[change] ?? (detail === 0 ? plain[change] : undefined);
  const text = known ?? `${changes[change] ?? `change ${change}`} (detail ${detail})`;
  if (event.type === 1 && change === NONE && detail === 0) return ['waits'];
  return text.split('{ref}');
}

// referenceType is what an event refers to: 'node', 'application', 'allocation'.
export function referenceType(event) {
  const detail = event.eventChangeDetail ?? 0;
  if (event.type === 1) return detail === 306 ? 'node' : 'application';
  if (detail === 405 || detail === 602) return 'application';
  return 'allocation';
}

// weightOf is how an event is marked: what deserves a look, what is
// evicted, what ended, and all else.
export function weightOf(event) {
  const detail = event.eventChangeDetail ?? 0;
  if ([501, 407].includes(detail)) return 'preempted';
  if ([202, 209, 210, 102, 504, 300, 212].includes(detail)) return 'bad';
  if (event.type === 1 && detail === 0) return 'waits';
  return '';
}
