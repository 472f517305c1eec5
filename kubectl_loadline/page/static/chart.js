// One autoscaler on one time axis: its metrics, and below them demand, replicas, limits and events.

import { amount, below, range, stepped, svg } from "./svg.js";

const LOADS_MAX = 3, LOAD_HEIGHT = 74, REPLICAS_HEIGHT = 210, GAP = 26, EVENTS_HEIGHT = 20, AXIS_HEIGHT = 22;
const LEFT = 46, NARROW = 560, LABEL_HEIGHT = 14;
const STEPS = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
const CURVES = ["current", "desired", "demand"];

export function summary(chart) {
  const named = [...CURVES.map((name) => [name, chart[name]]), ...chart.loads.map((load) => [load.name, load.values])];
  const parts = named.map(([name, values]) => [name, range(values)]).filter(([, found]) => found);
  return parts.length ? `In this time: ${parts.map(([name, found]) => `${name} ${found.text}`).join(", ")}. ` : "";
}

export function atMoment(chart, index) {
  const value = (name) => (chart[name][index] === null ? null : `${name} ${amount(chart[name][index])}`);
  const loads = chart.loads.filter((load) => load.values[index] !== null).map((load) => `${load.name} ${amount(load.values[index])}`);
  const counts = CURVES.map(value).filter(Boolean);
  return `${clock(chart.times[index], true)}: ${[...loads, ...counts].join(", ") || "nothing is known"}`;
}

export function clock(at, withSeconds = false) {
  const second = withSeconds ? { second: "2-digit" } : {};
  return new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false, ...second });
}

export function drawn(chart, width) {
  const right = width < NARROW ? 82 : 110;
  const loads = chart.loads.filter((load) => range(load.values)).slice(0, LOADS_MAX);
  const top = loads.length * (LOAD_HEIGHT + GAP) + GAP;
  const bottom = top + REPLICAS_HEIGHT;
  const height = bottom + EVENTS_HEIGHT + AXIS_HEIGHT;
  const start = chart.times.length ? chart.times[0] : chart.start;
  const span = Math.max(chart.end - start, 1);
  const x = (at) => LEFT + ((at - start) / span) * (width - LEFT - right);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart", role: "img", "aria-labelledby": "last-hours", "aria-describedby": "chart-text" });
  const frame = { x, start, end: chart.end, left: LEFT, right: width - right, width };
  timeAxis(picture, frame, bottom + EVENTS_HEIGHT);
  loads.forEach((load, index) => loadPanel(picture, chart, load, frame, GAP + index * (LOAD_HEIGHT + GAP)));
  replicasPanel(picture, chart, frame, top);
  eventMarks(picture, chart, frame, GAP, bottom);
  const cursor = svg("line", { class: "cursor", y1: GAP, y2: bottom, x1: -9, x2: -9 });
  picture.append(cursor);
  return {
    picture,
    left: LEFT,
    right,
    nearest: (px) => {
      const at = start + ((px - LEFT) / (width - LEFT - right)) * span;
      let best = 0;
      chart.times.forEach((time, index) => { if (time <= at) best = index; });
      return best;
    },
    point: (index) => { cursor.setAttribute("x1", x(chart.times[index])); cursor.setAttribute("x2", x(chart.times[index])); },
  };
}

function text(words, attributes) {
  return svg("text", attributes, words);
}

function timeAxis(picture, { x, start, end, left, right }, y) {
  const step = STEPS.find((each) => (end - start) / each <= Math.max(2, (right - left) / 84)) || 86400;
  const offset = new Date(start * 1000).getTimezoneOffset() * 60;
  for (let at = Math.ceil((start - offset) / step) * step + offset; at <= end; at += step) {
    const day = step >= 86400 || (end - start > 129600);
    const words = day ? new Date(at * 1000).toLocaleDateString([], { weekday: "short", day: "numeric" }) + (step < 86400 ? ` ${clock(at)}` : "") : clock(at, step < 60);
    picture.append(svg("line", { class: "grid", x1: x(at), x2: x(at), y1: GAP, y2: y }), text(words, { x: x(at), y: y + 15, class: "tick middle" }));
  }
}

function ticks(high, count) {
  const rough = high / count, power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough) || 1;
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, index) => index * step);
}

function valueAxis(picture, { left, right }, y, values) {
  for (const value of values) {
    picture.append(svg("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }), text(amount(value), { x: left - 6, y: y(value) + 4, class: "tick end" }));
  }
}

function loadPanel(picture, chart, load, frame, top) {
  const high = Math.max(range(load.values).high * 1.1, Number.MIN_VALUE);
  const y = (value) => top + LOAD_HEIGHT - (value / high) * LOAD_HEIGHT;
  valueAxis(picture, frame, y, ticks(high, 2));
  picture.append(
    text(load.name, { x: frame.left, y: top - 7, class: "panel" }),
    svg("path", { d: stepped(chart.times, load.values, frame.x, y, chart.end), class: "line load" }));
  labels(picture, frame, [{ y: y(latest(load.values)), words: `load ${amount(latest(load.values))}`, name: "load" }], top + LOAD_HEIGHT);
}

function replicasPanel(picture, chart, frame, top) {
  const peak = Math.max(1, ...CURVES.map((name) => range(chart[name])?.high ?? 0));
  const limit = range(chart.max)?.high;
  const shows = limit !== undefined && limit <= peak * 1.8;
  const high = Math.max(peak, shows ? limit : 0) * 1.08;
  const y = (value) => top + REPLICAS_HEIGHT - (Math.min(value, high) / high) * REPLICAS_HEIGHT;
  valueAxis(picture, frame, y, ticks(high, 4).filter(Number.isInteger));
  picture.append(text("replicas", { x: frame.left, y: top - 7, class: "panel" }));
  picture.append(svg("path", { d: below(chart.times, chart.demand, frame.x, y, chart.end), class: "area demand" }));
  const found = [];
  for (const name of ["min", "max", "desired", "current"]) {
    const value = latest(chart[name]);
    if (value === null) continue;
    const isLimit = name === "min" || name === "max";
    const hidden = name === "max" && !shows;
    if (!hidden) picture.append(svg("path", { d: stepped(chart.times, chart[name], frame.x, y, chart.end), class: `line ${isLimit ? "limits" : name}` }));
    found.push({ y: hidden ? top - 4 : y(value), words: hidden ? `max ${value} \u2191` : `${name} ${value}`, name: isLimit ? "limits" : name });
  }
  const demand = latest(chart.demand);
  if (demand !== null) found.push({ y: y(demand), words: `demand ${demand}`, name: "demand" });
  labels(picture, frame, found, top + REPLICAS_HEIGHT + EVENTS_HEIGHT);
}

// Beside the ends of the curves, pushed apart where they would cover each other.
function labels(picture, frame, found, bottom) {
  const sorted = [...found].sort((a, b) => a.y - b.y);
  let free = -Infinity;
  for (const each of sorted) { each.at = Math.max(each.y, free); free = each.at + LABEL_HEIGHT; }
  let limit = bottom;
  for (const each of sorted.reverse()) { each.at = Math.min(each.at, limit); limit = each.at - LABEL_HEIGHT; }
  for (const each of sorted) picture.append(text(each.words, { x: frame.right + 7, y: each.at + 4, class: `label ${each.name}` }));
}

function latest(values) {
  return values.findLast((value) => value !== null) ?? null;
}

function eventMarks(picture, chart, { x, start }, top, bottom) {
  for (const event of chart.events) {
    if (event.at < start) continue;
    const at = x(event.at);
    picture.append(svg("g", { class: event.is_warning ? "event warning" : "event" },
      svg("title", {}, `${clock(event.at, true)} ${event.reason}: ${event.message}`),
      svg("line", { x1: at, x2: at, y1: top, y2: bottom }),
      svg("path", { d: `M${at} ${bottom + 3}l5 10h-10z` })));
  }
}
