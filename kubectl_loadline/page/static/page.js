// The charts, and the number beside each slider. Everything else is HTML and htmx.

import { atMoment, clock, drawn, summary } from "./chart.js";
import { showSparklines } from "./sparklines.js";

const found = (id) => document.getElementById(id);

async function showHours(form) {
  const response = await fetch(`${form.dataset.series}?${new URLSearchParams(new FormData(form))}`);
  if (!response.ok) {
    found("chart-text").textContent = `The last hours cannot be shown: ${await response.text()}`;
    return;
  }
  const chart = await response.json();
  const show = () => draw(chart);
  show();
  window.onresize = show;
  // The same for readers who do not see the chart.
  found("chart-text").textContent = summary(chart) + chart.basis;
  listEvents(chart.events);
}

function draw(chart) {
  const place = found("chart"), moment = found("moment");
  moment.hidden = chart.times.length < 2;
  found("at-moment").textContent = "";
  if (!chart.times.length) { place.replaceChildren(); return; }
  const { picture, left, right, nearest, point } = drawn(chart, place.clientWidth);
  place.replaceChildren(picture);
  // The thumb is below the moment that it means.
  moment.style.marginLeft = `${left - 8}px`;
  moment.style.width = `${place.clientWidth - left - right + 16}px`;
  moment.max = chart.times.length - 1;
  moment.value = moment.max;
  const showMoment = () => {
    const words = atMoment(chart, Number(moment.value));
    found("at-moment").textContent = words;
    moment.setAttribute("aria-valuetext", words);
    point(Number(moment.value));
  };
  moment.oninput = showMoment;
  picture.onpointermove = (event) => {
    moment.value = nearest(event.clientX - picture.getBoundingClientRect().left);
    showMoment();
  };
  moment.setAttribute("aria-valuetext", atMoment(chart, chart.times.length - 1));
}

function listEvents(events) {
  const details = found("events");
  details.hidden = events.length === 0;
  details.querySelector("summary").textContent = events.length === 1 ? "1 event" : `${events.length} events`;
  details.querySelector("ol").replaceChildren(...events.map((event) => {
    const item = document.createElement("li");
    const reason = document.createElement("b");
    reason.textContent = event.reason;
    reason.className = event.is_warning ? "warning" : "";
    item.append(`${clock(event.at, true)} `, reason, ` ${event.message}`);
    return item;
  }));
}

const form = found("hours");
if (form) {
  form.addEventListener("change", () => showHours(form));
  form.addEventListener("submit", (event) => event.preventDefault());
  showHours(form);
}
showSparklines();
document.body.addEventListener("htmx:afterSettle", showSparklines);

document.addEventListener("input", (event) => {
  if (event.target.type !== "range" || event.target.id === "moment") return;
  const output = event.target.parentElement.querySelector("output");
  if (output) output.textContent = amount(event.target.value / 1000, output.dataset.unit === "bytes");
});

function amount(value, isInBytes) {
  const suffixes = isInBytes ? ["", "Ki", "Mi", "Gi", "Ti"] : [""];
  while (suffixes.length > 1 && value >= 1024) {
    suffixes.shift();
    value /= 1024;
  }
  return String(Number(value.toPrecision(4))) + suffixes[0];
}
