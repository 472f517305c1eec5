// SVG elements. Colours are classes of page.css, so they follow the scheme of the browser.

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// A line of steps: each value holds until the next one. A value that is not known (null) leaves a gap.
export function stepped(times, values, x, y, until = times.at(-1)) {
  let path = "";
  values.forEach((value, index) => {
    if (value === null) return;
    const begins = index === 0 || values[index - 1] === null;
    const end = index + 1 < times.length ? times[index + 1] : until;
    path += `${begins ? "M" : "L"}${x(times[index]).toFixed(1)} ${y(value).toFixed(1)}H${x(end).toFixed(1)}`;
  });
  return path;
}

// The area below such a line.
export function below(times, values, x, y, until = times.at(-1)) {
  let path = "";
  values.forEach((value, index) => {
    if (value === null) return;
    const end = index + 1 < times.length ? times[index + 1] : until;
    path += `M${x(times[index]).toFixed(1)} ${y(0).toFixed(1)}V${y(value).toFixed(1)}H${x(end).toFixed(1)}V${y(0).toFixed(1)}Z`;
  });
  return path;
}

export function range(values) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return null;
  const low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b));
  return { low, high, text: low === high ? amount(low) : `${amount(low)} to ${amount(high)}` };
}

export function amount(value) {
  return value === null || value === undefined ? "unknown" : String(Number(value.toPrecision(4)));
}
