// The picture of the last hours, and the number beside each slider. Everything else is HTML and htmx.
"use strict";

let picture = null;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function drawn(element, series) {
  const steps = uPlot.paths.stepped({ align: 1 });
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  const whole = (_, marks) => marks.map((mark) => (Number.isInteger(mark) ? String(mark) : ""));
  return new uPlot({
    width: element.clientWidth,
    height: 260,
    scales: { y: { range: (_, low, high) => [0, Math.max(1, (high || 0) * 1.1)] } },
    axes: [axis, { ...axis, values: whole }],
    series: [
      {},
      { label: "replicas", stroke: colour("--have"), width: 2, paths: steps, points: { show: series.times.length < 3 } },
      { label: "desired", stroke: colour("--desired"), width: 2, dash: [6, 4], paths: steps, points: { show: series.times.length < 3 } },
    ],
  }, [series.times, series.replicas, series.desired], element);
}

function range(values) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return "unknown";
  const low = Math.min(...known), high = Math.max(...known);
  return low === high ? `${low}` : `${low} to ${high}`;
}

async function showHours(form) {
  const element = document.getElementById("picture");
  const text = document.getElementById("picture-text");
  const query = new URLSearchParams(new FormData(form));
  const response = await fetch(`${form.dataset.series}?${query}`);
  if (!response.ok) {
    text.textContent = `The last hours cannot be shown: ${await response.text()}`;
    return;
  }
  const series = await response.json();
  if (picture) picture.destroy();
  picture = series.times.length ? drawn(element, series) : null;
  // The same for readers who do not see the picture.
  const summary = series.times.length ? `Replicas: ${range(series.replicas)}. Desired: ${range(series.desired)}. ` : "";
  text.textContent = summary + series.basis;
}

document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("hours");
  if (!form) return;
  form.addEventListener("change", () => showHours(form));
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("resize", () => {
    if (picture) picture.setSize({ width: document.getElementById("picture").clientWidth, height: 260 });
  });
  showHours(form);
});

document.addEventListener("input", (event) => {
  if (event.target.type !== "range") return;
  const output = event.target.parentElement.querySelector("output");
  if (output) output.textContent = String(Number((event.target.value / 1000).toPrecision(4)));
});
