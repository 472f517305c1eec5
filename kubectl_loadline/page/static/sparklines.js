// The last hour of each row of the table. Only rows that can be seen are drawn.

import { range, stepped, svg } from "./svg.js";

const WIDTH = 120, HEIGHT = 26, MARGIN = 3;
const KEPT_MS = 30000;
let read = { url: "", at: 0, hours: null };

function sparkline(values) {
  const found = range(values);
  if (!found) return "unknown";
  const x = (at) => MARGIN + (at / (values.length - 1)) * (WIDTH - 2 * MARGIN);
  const y = (value) => HEIGHT - MARGIN - (value / Math.max(found.high, 1)) * (HEIGHT - 2 * MARGIN);
  const times = values.map((_, index) => index);
  const last = values.findLastIndex((value) => value !== null);
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, class: "sparkline", role: "img", "aria-label": `${found.text} replicas in the last hour` },
    svg("path", { d: stepped(times, values, x, y), class: "line current" }),
    svg("circle", { cx: x(last), cy: y(values[last]), r: 2.5, class: "dot current" }));
}

async function lastHours(url) {
  if (read.hours && read.url === url && performance.now() - read.at < KEPT_MS) return read.hours;
  const response = await fetch(url);
  if (!response.ok) return null;
  read = { url, at: performance.now(), hours: await response.json() };
  return read.hours;
}

let observer = null;

export async function showSparklines() {
  const table = document.getElementById("table");
  if (!table) return;
  const hours = await lastHours(table.dataset.lastHours);
  if (!hours || !table.isConnected) return;
  if (observer) observer.disconnect();
  observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      target.replaceChildren(sparkline(hours.counts[target.dataset.key] || []));
    }
  });
  for (const cell of table.querySelectorAll(".hour")) observer.observe(cell);
  const basis = document.getElementById("hours-basis");
  if (basis) basis.textContent = hours.basis;
}
