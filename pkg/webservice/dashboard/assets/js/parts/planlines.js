// The lines of a plan to make room, read back into what they say. A line that
// is not understood is kept as it is, so nothing is lost.

const victimLine = /^(.+) \((.+), priority (-?\d+)(, on another node)?\) (.*)$/;

// readPlan takes {summary, lines} to {summary, trigger, ask, facts, filtered,
// tried, victims, rest}: facts are [name, text] of what it is about, filtered is
// {why, keys} of those that were filtered out, tried is {strategy, why} of what was
// not enough, victims are {key, class, priority, elsewhere, amounts}.
export function readPlan(plan) {
  const out = { summary: plan.summary ?? '', facts: [], filtered: [], tried: [], victims: [], rest: [] };
  const lines = plan.lines ?? [];
  for (const line of lines.slice(lines[0]?.endsWith(out.summary) ? 1 : 0)) {
    const m = /^\s*(\S+)\s+(.*)$/.exec(line);
    if (m) readLine(out, m[1], m[2]);
    else out.rest.push(line.trim());
  }
  return out;
}

function readLine(out, name, text) {
  switch (name) {
    case 'trigger':
      out.trigger = text;
      return;
    case 'filtered':
      out.filtered.push(splitAt(text, 'why', 'keys'));
      return;
    case 'tried':
      out.tried.push(splitAt(text, 'strategy', 'why'));
      return;
    case 'release':
      out.victims.push(readVictim(text));
      return;
    case 'ask':
    case 'queue':
    case 'free':
    case 'releasing':
    case 'quota':
    case 'candidates':
    case 'floor':
    case 'violations':
    case 'strategy':
    case 'proof':
      out.facts.push([name, text]);
      return;
    default:
      out.rest.push(`${name} ${text}`);
  }
}

function splitAt(text, first, second) {
  const at = text.indexOf(': ');
  return at < 0 ? { [first]: text, [second]: '' } : { [first]: text.slice(0, at), [second]: text.slice(at + 2) };
}

function readVictim(text) {
  const m = victimLine.exec(text);
  if (!m) return { key: text, class: '', priority: '', elsewhere: false, amounts: '' };
  return { key: m[1], class: m[2], priority: m[3], elsewhere: Boolean(m[4]), amounts: m[5] };
}
