// The filter box: words and field:value pairs, all of which must hold; a minus before one negates it.
// Never evaluates anything: a pair it does not know is told, not run.

const FILTER_HELP = [
  ["read file", "frames whose line has both words"],
  ["\"read file\"", "the words together"],
  ["-heartbeat", "frames without the word"],
  ["kind:shell", "part of the kind, or of a branch below it"],
  ["dir:request", "request or response"],
  ["rpc:Chat  type:Reply", "part of the RPC, of the message's type"],
  ["call:4  run:6e05  frame:12-40", "number of the call, id of the run, frames"],
  ["len>1000  time<2.5", "bytes, seconds since the beginning; also >= <= ="],
  ["finding:pair  finding:error", "part of a finding's code, or its severity"],
  ["is:pulse  is:repeated", "keep-alives, what was sent again; also end, compressed, answered"],
];

const has = (text, part) => text.toLowerCase().includes(part);

const FIELDS = {
  kind: (i, value) => has(named(frames.kind[i]), value) || has(named(frames.name[i]), value),
  dir: (i, value) => (frames.sent[i] ? "request" : "response").startsWith(value),
  rpc: (i, value) => has(named(frames.rpc[i]), value),
  type: (i, value) => has(named(frames.type[i]), value),
  call: (i, value) => String(frames.call[i]) === value,
  run: (i, value) => runOfFrame[i] >= 0 && (stages[runOfFrame[i]].id || "").toLowerCase().startsWith(value),
  frame: (i, value) => {
    const [from, to] = value.split("-");
    return frames.number[i] >= +from && frames.number[i] <= (to === undefined ? +from : +(to || Infinity));
  },
  finding: (i, value) => (findingsOf.get(frames.number[i]) || []).some((f) => has(f.code, value) || LEVELS[f.severity] === value),
  is: (i, value) => ({
    pulse: isPulse(i), repeated: isRepeated(i), compressed: (frames.flags[i] & 4) !== 0,
    end: isEnd(i), answered: (opens.get(frames.number[i]) || []).some((l) => l.state === "answered"),
  })[value],
};
const NUMBERS = { len: (i) => frames.length[i], time: (i) => (frames.time[i] === null ? NaN : frames.time[i] / 1e6) };
const COMPARE = { ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b, "=": (a, b) => a === b };
const KNOWN = { dir: /^re[qs]/, call: /^\d+$/, frame: /^\d+(-\d*)?$/, is: /^(pulse|repeated|compressed|end|answered)$/ };

/** What a text asks for: `test` for a frame, or `wrong` with what cannot be read. */
function compile(text) {
  const tests = [];
  for (const [, minus, quoted, plain] of text.matchAll(/(-?)(?:"([^"]*)"?|(\S+))/g)) {
    const word = plain === undefined ? quoted : plain;
    if (!word) continue;
    const test = plain === undefined ? words(quoted) : term(plain);
    if (typeof test === "string") return { wrong: test };
    tests.push(minus ? (i) => !test(i) : test);
  }
  return { test: (i) => tests.every((test) => test(i)), all: tests.length === 0 };
}

function words(text) {
  const part = text.toLowerCase();
  return (i) => has(frames.says[i], part) || has(named(frames.name[i]), part) || has(named(frames.kind[i]), part) || has(named(frames.rpc[i]), part);
}

function term(word) {
  const compared = word.match(/^([a-z]+)(>=|<=|>|<|=)(.*)$/);
  if (compared && NUMBERS[compared[1]]) {
    const [, name, sign, value] = compared;
    if (value === "" || Number.isNaN(+value)) return name + sign + " needs a number";
    return (i) => COMPARE[sign](NUMBERS[name](i), +value);
  }
  const pair = word.match(/^([a-z]+):(.*)$/);
  if (!pair || !Object.hasOwn(FIELDS, pair[1])) return words(word);
  const [, name, value] = pair;
  if (value === "") return name + ": needs a value";
  if (KNOWN[name] && !KNOWN[name].test(value.toLowerCase())) return name + ":" + value + " is not known";
  return (i) => FIELDS[name](i, value.toLowerCase());
}
