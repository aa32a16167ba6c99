// The scripts of the report's pages are put together in one function, in the order that
// report_page_parts.cpp says. All numbers come from `tutti report`; these draw them, and compute
// none but what somebody chooses by hand (a range, a search).
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const KINDS = ["api", "host", "decision", "package", "kernel", "transfer", "merge"];
const [API, HOST, DECISION, PACKAGE, KERNEL, TRANSFER, MERGE] = KINDS.keys();
const WAYS = ["to the device", "to the host", "within the device"];

// ---- words -------------------------------------------------------------------------------------

/// Three digits that count, whatever the size.
function digits(value) {
  if (value === 0 || !Number.isFinite(value)) return "" + value;
  const size = Math.floor(Math.log10(Math.abs(+value.toPrecision(3))));
  return value.toFixed(Math.max(0, Math.min(12, 2 - size)));
}
function scaled(value, step, units) {
  let unit = 0;
  // What would be rounded up to the next unit is in that.
  while (+value.toPrecision(3) >= step && unit + 1 < units.length) { value /= step; ++unit; }
  return (unit === 0 && Number.isInteger(value) ? "" + value : digits(value)) + " " + units[unit];
}
const time = (ns) => scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
const bytes = (n) => scaled(n, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const rate = (n) => n ? scaled(n, 1000, ["", "k", "M", "G", "T", "P"]).trim() : "–";
const percent = (part) => part === 0 ? "0 %" : part >= 0.001 ? (100 * part).toFixed(part < 0.0995 ? 2 : 1) + " %"
    : digits(100 * part) + " %";
const score = (value) => digits(value);
const grouped = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");
const count = (n, word, plural) => grouped(n) + " " +
    (n === 1 ? word : plural || word + "s");
/// A moment, to the nanosecond, in milliseconds.
const moment = (ns) => {
  const whole = Math.round(ns), ms = Math.floor(whole / 1e6);
  const rest = ("" + whole % 1e6).padStart(6, "0").replace(/000$/, "");
  return grouped(ms) + "." + rest + " ms";
};
const deviceName = (index) => {
  const found = data.devices.find((d) => d.index === index);
  return found ? found.index + " " + found.name : "" + index;
};

function element(tag, attributes, ...children) {
  const made = document.createElementNS(
      /^(svg|g|rect|line|text|path|title)$/.test(tag) ? "http://www.w3.org/2000/svg"
                                                      : "http://www.w3.org/1999/xhtml", tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) if (child != null) made.append(child);
  return made;
}
const deviceColor = (index) => {
  const place = data.devices.findIndex((d) => d.index === index);
  return "var(--d" + (place < 0 ? 0 : place % 8) + ")";
};
/// A cell whose exact value a program can read.
const cell = (key, value, shown, attributes) =>
    element("td", {"data-key": key, "data-value": value, ...attributes}, shown);

/// What `draw` makes for a width in pixels, as wide as there is room, so that its words keep their
/// size; anew where that changes.
function chart(draw) {
  const box = element("div", {class: "chart"});
  let drawn = 0;
  const fill = () => {
    const width = Math.max(260, Math.min(1200, box.clientWidth || document.body.clientWidth - 100));
    if (Math.abs(width - drawn) < 4) return;
    drawn = width;
    box.replaceChildren(draw(width));
  };
  fill();
  new ResizeObserver(fill).observe(box);
  return box;
}

function table(head, rows) {
  return [element("thead", {}, element("tr", {}, head.map((h) =>
              element("th", {scope: "col", class: h.words ? "words" : null}, h.words || h)))),
          element("tbody", {}, rows)];
}

