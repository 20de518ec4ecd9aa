// What a question changes: the difference between what would come of it and what
// comes anyway.

// effectOf compares two outcomes. Victims, others and overUse are what the question
// brings, and so are overLimits; spared and lost are victims and places that come only without it; and
// anyway is what comes in both.
export function effectOf(outcome, without) {
  const victim = (v) => `${v.applicationId} ${v.allocationKey}`, ask = (f) => f.allocationKey;
  const was = new Map(without.overUse.map((b) => [b.queueName, b.by]));
  return {
    victims: minus(outcome.victims, without.victims, victim),
    spared: minus(without.victims, outcome.victims, victim),
    others: minus(outcome.others, without.others, ask),
    lost: minus(without.others, outcome.others, ask),
    overUse: outcome.overUse.filter((b) => !equal(b.by, was.get(b.queueName))).map((b) => ({ ...b, now: was.get(b.queueName) })),
    overLimits: (outcome.overLimits ?? []).filter((b) => !(without.overLimits ?? []).some((one) => limited(one) === limited(b) && one.applications === b.applications && equal(one.by, b.by))),
    anyway: { victims: both(outcome.victims, without.victims, victim), others: both(outcome.others, without.others, ask) },
  };
}

// limited is which user or group of which queue is over a limit.
function limited(b) { return [b.queueName, b.user, b.group].join(' '); }

function minus(list, less, key) {
  const without = new Set(less.map(key));
  return list.filter((one) => !without.has(key(one)));
}

function both(list, other, key) {
  const there = new Set(other.map(key));
  return list.filter((one) => there.has(key(one)));
}

function equal(a, b) {
  if (!a || !b) return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((kind) => a[kind] === b[kind]);
}
