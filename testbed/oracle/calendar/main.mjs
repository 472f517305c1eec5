// The oracle of recurrence rules: it calls ical.js, the calendar library of Thunderbird, and writes the results as vectors.
//
//   npm install --no-package-lock && node main.mjs FILE
//
// Left out, because ical.js does not follow RFC 5545: BYWEEKNO; a yearly rule on 29 February, which it moves to 1 March; and the last day
// of several months in one rule.
// Local times are resolved to instants by Node's own time zones, with the rule of RFC 5545 for skipped and repeated ones.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import ICAL from "ical.js";

const YEARS = [2016, 2026];
const ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Auckland", "America/Santiago"];

const RULES = [
  ["2016-01-01T08:00:00", "FREQ=DAILY"],
  ["2016-01-01T02:30:00", "FREQ=DAILY"],
  ["2016-01-01T00:00:00", "FREQ=DAILY"],
  ["2016-01-01T01:45:00", "FREQ=DAILY;INTERVAL=3"],
  ["2016-01-01T08:00:00", "FREQ=DAILY;BYHOUR=2,8,20;BYMINUTE=0,30"],
  ["2016-01-01T09:00:00", "FREQ=DAILY;BYMONTH=1,6,12;BYDAY=FR,MO"],
  ["2016-01-04T08:00:00", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"],
  ["2016-01-03T02:15:00", "FREQ=WEEKLY;BYDAY=SU"],
  ["2016-01-05T08:00:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU"],
  ["2016-01-05T08:00:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO"],
  ["2016-01-31T10:00:00", "FREQ=MONTHLY;BYMONTHDAY=-1"],
  ["2016-01-31T10:00:00", "FREQ=MONTHLY"],
  ["2016-01-01T10:00:00", "FREQ=MONTHLY;BYDAY=1FR"],
  ["2016-01-29T10:00:00", "FREQ=MONTHLY;BYDAY=-1FR;COUNT=60"],
  ["2016-01-29T23:30:00", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1"],
  ["2016-01-13T00:00:00", "FREQ=MONTHLY;BYMONTHDAY=13,15;INTERVAL=2"],
  ["2016-05-13T00:00:00", "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR"],
  ["2016-11-25T00:00:00", "FREQ=YEARLY;BYMONTH=11;BYDAY=4FR"],
  ["2016-03-27T02:30:00", "FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU"],
  ["2016-10-30T02:30:00", "FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU"],
  ["2016-12-24T00:00:00", "FREQ=YEARLY;UNTIL=20221231T000000"],
  ["2016-01-01T00:00:00", "FREQ=YEARLY;INTERVAL=2;BYMONTH=1,2;BYMONTHDAY=1,15"],
  ["2016-01-01T09:00:00", "FREQ=YEARLY;BYYEARDAY=1,100,-1"],
];

let seed = 20261122;
function random(limit) {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return (seed >>> 8) % limit;
}
const pick = (list) => list[random(list.length)];

// Their second local time is made the start, because ical.js returns a start that its rule does not match as the first one,
// and RFC 5545 leaves that undefined.
function randomRule() {
  const days = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
  const some = (low, high) => Array.from({ length: 1 + random(3) }, () => low + random(high - low + 1));
  const list = (values) => [...new Set(values)].join(",");
  const frequency = pick(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]);
  const parts = [`FREQ=${frequency}`];
  if (random(2)) parts.push(`INTERVAL=${1 + random(4)}`);
  if (frequency === "DAILY") {
    if (random(2)) parts.push(`BYMONTH=${list(some(1, 12))}`);
    if (random(2)) parts.push(`BYDAY=${list([pick(days), pick(days), pick(days)])}`);
  } else if (frequency === "WEEKLY") {
    parts.push(`BYDAY=${list([pick(days), pick(days)])}`);
  } else if (frequency === "MONTHLY") {
    parts.push(random(2) ? `BYMONTHDAY=${list(some(1, 28))}` : `BYDAY=${pick([1, 2, 3, 4, -1, -2])}${pick(days)}`);
  } else {
    parts.push(`BYMONTH=${list(some(1, 12))}`);
    parts.push(random(2) ? `BYMONTHDAY=${list(some(1, 28))}` : `BYDAY=${pick([1, 2, 3, 4, -1])}${pick(days)}`);
  }
  const start = `2016-01-01T${String(random(24)).padStart(2, "0")}:${pick(["00", "15", "30", "45"])}:00`;
  return [start, parts.join(";")];
}

function localTimes(start, rule, limit) {
  const iterator = ICAL.Recur.fromString(rule).iterator(ICAL.Time.fromDateTimeString(start));
  const found = [];
  for (let time = iterator.next(); time && time.year < YEARS[1]; time = iterator.next()) {
    found.push(time.toString());
    if (found.length === limit) break;
  }
  return found.sort();
}

const formatters = new Map(ZONES.map((zone) => [zone, new Intl.DateTimeFormat("en-CA", {
  timeZone: zone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
})]));

function offset(zone, instant) {
  const parts = Object.fromEntries(formatters.get(zone).formatToParts(instant * 1000).map((part) => [part.type, part.value]));
  return Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second) / 1000 - instant;
}

// A repeated time is the first one; a skipped one has the offset from before the change.
function instant(local, zone) {
  const wall = Date.parse(`${local}Z`) / 1000;
  const before = offset(zone, wall - 86400);
  const after = offset(zone, wall + 86400);
  for (const each of [before, after]) {
    if (offset(zone, wall - each) === each) return wall - each;
  }
  return wall - before;
}

const rows = [];
const rules = [...RULES];
while (rules.length < RULES.length + 60) {
  const [start, rule] = randomRule();
  const second = localTimes(start, rule, 2).at(1);
  if (second) rules.push([second, rule]);
}
for (const [start, rule] of rules) {
  const times = localTimes(start, rule, Infinity);
  for (const zone of ZONES) {
    const instants = times.map((local) => instant(local, zone));
    const hash = createHash("sha256").update(instants.map((each) => `${each}\n`).join("")).digest("hex");
    rows.push(JSON.stringify({ start, rule, zone, count: instants.length, first: times[0], last: times.at(-1), sha256: hash }));
  }
}
writeFileSync(process.argv[2], rows.join("\n") + "\n");
