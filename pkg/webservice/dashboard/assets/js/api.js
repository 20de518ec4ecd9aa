// Talking with REST. What a request needs of the surroundings is handed in.

// The most answers that are kept to be compared with newer ones.
const keptMax = 48;

// An ApiError is an answer that is none: status 0 means that there was no answer.
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
  }
}

// path joins parts of a path, escaped: path('partition', 'default', 'nodes').
export function path(...parts) { return parts.map(encodeURIComponent).join('/'); }

// twice escapes a name of a queue or a user, which REST wants escaped once more.
export function twice(name) { return encodeURIComponent(name); }

// createApi makes a client. askToken(wrong) resolves to a token, or to null if the
// reader gives none; seen(ms) is told the time of the server now and then.
export function createApi({ askToken, seen = () => {}, base = new URL('ws/v1/', document.baseURI) }) {
  const kept = new Map(); // by URL, the one used last at the end
  let token = stored();
  let asking = null; // a promise, so that many requests ask once
  let refused = false; // the reader gave no token, and is not asked again and again

  function stored() {
    try { return sessionStorage.getItem('narwhal.token') ?? ''; } catch { return ''; }
  }

  function store(value) {
    token = value;
    try { sessionStorage.setItem('narwhal.token', value); } catch { /* it is kept in memory */ }
  }

  function askOnce(wrong) {
    if (refused) return Promise.resolve(null);
    asking ??= askToken(wrong).then((given) => {
      refused = given === null;
      if (given !== null) store(given);
      return given;
    }).finally(() => { asking = null; });
    return asking;
  }

  async function request(url, { method = 'GET', headers = {}, body, signal } = {}) {
    for (;;) {
      const sent = token;
      let response;
      try {
        response = await fetch(url, {
          method, body, signal, cache: 'no-store', credentials: 'same-origin',
          headers: sent ? { ...headers, Authorization: `Bearer ${sent}` } : headers,
        });
      } catch (err) {
        if (signal?.aborted) throw signal.reason ?? err;
        throw new ApiError(0, 'The scheduler does not answer');
      }
      const date = Date.parse(response.headers.get('Date') ?? '');
      if (date) seen(date);
      if (response.status !== 401) return response;
      // Another request may have asked for a token while this request was under way.
      if (sent === token && await askOnce(sent !== '') === null) throw new ApiError(401, 'A token is needed to read from this scheduler');
    }
  }

  async function failure(response) {
    let message = response.statusText || `Status ${response.status}`;
    try {
      const text = await response.text();
      message = JSON.parse(text).message || message;
    } catch { /* no object: the status says it */ }
    return new ApiError(response.status, message);
  }

  function remember(url, entry) {
    kept.delete(url);
    kept.set(url, entry);
    if (kept.size > keptMax) kept.delete(kept.keys().next().value);
  }

  function urlOf(where, params) {
    const url = new URL(where, base);
    for (const [name, value] of Object.entries(params ?? {})) {
      if (value !== undefined && value !== null && value !== '') url.searchParams.set(name, value);
    }
    return url.href;
  }

  // get resolves to { data, total, counts }; counts by word are there if params ask for them. The data of an answer that did not change is the
  // very same object, so that a caller can see that there is nothing to do. Health
  // answers 503 with an object: statuses named in accept are no errors.
  async function get(where, { params, signal, accept = [], text = false } = {}) {
    const url = urlOf(where, params);
    const known = kept.get(url);
    const response = await request(url, { signal, headers: known ? { 'If-None-Match': known.tag } : {} });
    if (response.status === 304 && known) {
      remember(url, known);
      return known.answer;
    }
    if (!response.ok && !accept.includes(response.status)) throw await failure(response);
    let data;
    try {
      data = text ? await response.text() : await response.json();
    } catch (err) {
      if (signal?.aborted) throw signal.reason ?? err;
      throw new ApiError(0, 'The answer of the scheduler broke off');
    }
    const count = response.headers.get('X-Total-Count');
    const counts = JSON.parse(response.headers.get('X-Counts') ?? '{}');
    const answer = { data, total: count === null ? data?.length : Number(count), counts };
    const tag = response.headers.get('ETag');
    if (tag) remember(url, { tag, answer });
    return answer;
  }

  // post sends an object, or a text as it is, and resolves to { data }.
  async function post(where, body, { params, signal } = {}) {
    const plain = typeof body === 'string';
    const response = await request(urlOf(where, params), {
      method: 'POST', signal, body: plain ? body : JSON.stringify(body),
      headers: { 'Content-Type': plain ? 'text/plain; charset=utf-8' : 'application/json' },
    });
    if (!response.ok) throw await failure(response);
    return { data: await response.json() };
  }

  // stream calls onEvent with each object of a stream of lines, once, until the signal
  // aborts; then it resolves. A stream that breaks is opened again, later each time.
  // onState is told 'open', 'lost' (with the error) or 'closed'.
  async function stream(where, onEvent, signal, { params, onState = () => {} } = {}) {
    let instance = '', last = -1, waits = 500;
    const take = (record) => {
      if (record.InstanceUUID !== undefined) {
        if (record.InstanceUUID !== instance) last = -1; // a new server counts anew
        instance = record.InstanceUUID;
        return;
      }
      if (record.id !== undefined && record.id <= last && !(record.count > 1)) return;
      if (record.id !== undefined) last = Math.max(last, record.id);
      onEvent(record);
    };
    while (!signal.aborted) {
      try {
        const response = await request(urlOf(where, params), { signal, headers: { Accept: 'application/json' } });
        if (!response.ok) throw await failure(response);
        onState('open');
        waits = 500;
        await lines(response.body, take);
        onState('lost', new ApiError(0, 'The stream ended'));
      } catch (err) {
        if (signal.aborted) break;
        onState('lost', err);
        if (err.status === 401 || err.status === 404) break; // trying again would not help
      }
      await pause(waits, signal);
      waits = Math.min(waits * 2, 15000);
    }
    onState('closed');
  }

  return {
    get, post, stream, path, twice,
    forgetToken() { store(''); refused = false; },
  };
}

// lines reads a body and hands over each line as an object.
async function lines(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '', since = performance.now();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n');
    rest = parts.pop();
    for (const line of parts) {
      if (line.trim() !== '') take(JSON.parse(line));
      if (performance.now() - since > 20) { // the page answers in between
        await pause(0);
        since = performance.now();
      }
    }
  }
}

// pause waits, or less long if the signal aborts.
export function pause(ms, signal) {
  return new Promise((resolve) => {
    if (signal?.aborted) { resolve(); return; }
    const done = () => { clearTimeout(timer); signal?.removeEventListener('abort', done); resolve(); };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
}
