// The report's page. All numbers come from `tutti report`; this draws them, and computes none.
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const KINDS = ["api", "host", "decision", "package", "kernel", "transfer", "merge"];
const [API, HOST, DECISION, PACKAGE, KERNEL, TRANSFER, MERGE] = KINDS.keys();
const WAYS = ["to the device", "to the host", "within the device"];

// ---- words -------------------------------------------------------------------------------------

function scaled(value, step, units) {
  let unit = 0;
  while (value >= step && unit + 1 < units.length) { value /= step; ++unit; }
  const digits = unit === 0 && Number.isInteger(value) ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  return value.toFixed(digits) + " " + units[unit];
}
const time = (ns) => scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
const bytes = (n) => scaled(n, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const rate = (n) => n ? scaled(n, 1000, ["", "k", "M", "G", "T", "P"]).trim() : "–";
const percent = (part) => (100 * part).toFixed(1) + " %";
const score = (value) => value >= 0.005 ? value.toFixed(2) : "< 0.01";
const count = (n, word, plural) => n + " " + (n === 1 ? word : plural || word + "s");
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

function table(head, rows) {
  return [element("thead", {}, element("tr", {}, head.map((h) =>
              element("th", {scope: "col", class: h.words ? "words" : null}, h.words || h)))),
          element("tbody", {}, rows)];
}

// ---- head --------------------------------------------------------------------------------------

document.title = data.program + " – Tutti report";
$("program").textContent = data.program;
$("subtitle").textContent = "Process " + data.process + ", " + time(data.duration) +
    " traced, from " + data.source;
$("broken").hidden = data.complete;

const measured = data.kernels.filter((k) => k.ideal_ns > 0);
const sum = (list, key) => list.reduce((all, entry) => all + entry[key], 0);
const cards = [
  [data.launches, "launches of " + count(data.kernels.length, "kernel"), "launches"],
  [data.launches ? percent(data.split / data.launches) : "–", "of them split", "split"],
  [measured.length ? score(sum(measured, "ideal_ns") / sum(measured, "split_ns")) : "–",
   "efficiency of split launches", "efficiency"],
  [bytes(data.bytes_to_device), "to the devices", "bytes_to_device"],
  [bytes(data.bytes_to_host), "back from them", "bytes_to_host"],
  [time(data.call_ns), "in " + count(data.calls, "OpenCL call"), "calls"],
];
for (const [value, words, key] of cards) {
  $("cards").append(element("div", {class: "card", "data-key": key},
                            element("b", {}, "" + value), element("span", {}, words)));
}

// ---- timeline ----------------------------------------------------------------------------------

const STRIDE = 11, LINE = 18, GAP = 4, GROUP = 22, LABELS = 220;
const BEGIN = 0, LENGTH = 1, KIND = 2, NAME = 3, COMMAND = 4, X = 5, Y = 6, WHY = 7, ARGUMENT = 8,
      DEVICE = 9, KERNEL_NAME = 10;
const rows = data.rows.map((row) => ({...row, count: row.slices.length / STRIDE}))
                 .filter((row) => row.count > 0);
let total = 0, height = 0, lastGroup = null;
const rowOf = new Map();  // number in the trace → row shown
for (const row of rows) {
  rowOf.set(row.number, row);
  total += row.count;
  // How deep slices lie in each other; and the furthest end so far, to find what covers a time.
  row.depth = new Uint8Array(row.count);
  row.reach = new Float64Array(row.count);
  const open = [];
  let reach = 0;
  row.lines = 1;
  for (let i = 0; i < row.count; ++i) {
    const begin = row.slices[i * STRIDE], end = begin + row.slices[i * STRIDE + LENGTH];
    while (open.length && open[open.length - 1] <= begin) open.pop();
    row.depth[i] = Math.min(open.length, 6);
    open.push(end);
    row.lines = Math.max(row.lines, row.depth[i] + 1);
    row.reach[i] = reach = Math.max(reach, end);
  }
  if (row.group !== lastGroup) {
    $("labels").append(element("div", {class: "group", title: row.group,
        style: `top:${height}px;height:${GROUP}px;line-height:${GROUP}px`}, row.group));
    row.groupTop = height;
    height += GROUP;
    lastGroup = row.group;
  }
  row.top = height + GAP / 2;
  $("labels").append(element("div", {title: row.name,
      style: `top:${row.top}px;height:${LINE}px;line-height:${LINE}px`}, row.name));
  height += row.lines * LINE + GAP;
}
height += 4;
$("labels").style.height = height + "px";

const canvas = $("rows"), axis = $("axis"), overview = $("overview");
const span = Math.max(data.duration, 1);
const view = {from: 0, to: span};
let chosen = null;  // {row, at}
let colors = {};
function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ink", "quiet", "line", "soft", "card", "api", "host", "split", "whole",
                      "merge", "idle", "arrow", "accent", "on-device",
                      ...Array.from({length: 8}, (_, i) => "d" + i)]) {
    colors[name] = style.getPropertyValue("--" + name).trim();
  }
}
const field = (row, at, which) => row.slices[at * STRIDE + which];
const kindOf = (row, at) => field(row, at, KIND) >> 2;
const wayOf = (row, at) => field(row, at, KIND) & 3;
const endOf = (row, at) => field(row, at, BEGIN) + field(row, at, LENGTH);

function colorOf(row, at) {
  switch (kindOf(row, at)) {
    case API: return colors.api;
    case HOST: return colors.host;
    case DECISION: return data.texts[field(row, at, NAME)].startsWith("split") ? colors.split
                                                                               : colors.whole;
    case MERGE: return colors.merge;
    default: {
      const place = data.devices.findIndex((d) => d.index === field(row, at, DEVICE));
      return colors["d" + (place < 0 ? 0 : place % 8)];
    }
  }
}
function labelOf(row, at) {
  switch (kindOf(row, at)) {
    case PACKAGE: return data.texts[field(row, at, NAME)] + " " + field(row, at, Y);
    case TRANSFER: return ["→ ", "← ", "↔ "][wayOf(row, at)] + bytes(field(row, at, X));
    case HOST: return data.texts[field(row, at, NAME)] + " " + bytes(field(row, at, X));
    default: return data.texts[field(row, at, NAME)];
  }
}

function fit(target, width, tall) {
  const scale = window.devicePixelRatio || 1;
  if (target.width !== Math.round(width * scale) || target.height !== Math.round(tall * scale)) {
    target.width = Math.round(width * scale);
    target.height = Math.round(tall * scale);
    target.style.height = tall + "px";
  }
  const context = target.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, tall);
  return context;
}

/// The first slice that may reach `from` or beyond.
function firstVisible(row, from) {
  let low = 0, high = row.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.reach[middle] < from) low = middle + 1; else high = middle;
  }
  return low;
}

function drawRow(context, row, width) {
  const perNs = width / (view.to - view.from);
  const lastPixel = new Array(row.lines).fill(-1);
  for (let i = firstVisible(row, view.from); i < row.count; ++i) {
    const begin = row.slices[i * STRIDE];
    if (begin > view.to) break;
    const end = begin + row.slices[i * STRIDE + LENGTH];
    if (end < view.from) continue;
    const x0 = Math.max(-2, (begin - view.from) * perNs);
    const x1 = Math.min(width + 2, (end - view.from) * perNs);
    const depth = row.depth[i];
    const wide = x1 - x0;
    if (wide < 1 && Math.floor(x0) === lastPixel[depth]) continue;  // one is there already
    lastPixel[depth] = Math.floor(x0);
    const y = row.top + depth * LINE;
    const kind = kindOf(row, i);
    context.globalAlpha = kind === TRANSFER ? 0.6 : kind === API && depth > 0 ? 0.75 : 1;
    context.fillStyle = colorOf(row, i);
    context.fillRect(x0, y, Math.max(1, wide > 4 ? wide - 1 : wide), LINE - 2);
    context.globalAlpha = 1;
    if (wide > 34) {
      context.save();
      context.beginPath();
      context.rect(x0, y, wide - 3, LINE);
      context.clip();
      context.fillStyle = kind === TRANSFER || kind === HOST ? colors.ink : colors["on-device"];
      context.fillText(labelOf(row, i), Math.max(x0, 0) + 5, y + LINE / 2 - 0.5);
      context.restore();
    }
  }
}

function drawArrows(context, width) {
  if (!chosen) return;
  const row = chosen.row;
  const begin = field(row, chosen.at, BEGIN), end = endOf(row, chosen.at);
  const depth = row.depth[chosen.at];
  const x = (t) => (t - view.from) / (view.to - view.from) * width;
  const perNs = width / (view.to - view.from);
  context.strokeStyle = colors.accent;
  context.lineWidth = 2;
  context.strokeRect(Math.max(-4, x(begin)) - 1, row.top + depth * LINE - 1,
                     Math.min(width + 8, Math.max(3, (end - begin) * perNs)) + 1, LINE);
  context.strokeStyle = context.fillStyle = colors.arrow;
  context.lineWidth = 1.2;
  let drawn = 0;
  for (const [fromRow, from, toRow, to] of chosen.arrows) {
    if (++drawn > 500) break;
    const a = rowOf.get(fromRow), b = rowOf.get(toRow);
    if (!a || !b) continue;
    const x0 = x(from), x1 = x(to);
    const y0 = a.top + LINE / 2 - 1, y1 = b.top + LINE / 2 - 1;
    const bend = Math.max(18, Math.min(80, Math.abs(x1 - x0) / 2));
    context.globalAlpha = 0.75;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 7, y1 - 3.5);
    context.lineTo(x1 - 7, y1 + 3.5);
    context.fill();
    context.globalAlpha = 1;
  }
}

/// The arrows from and to a slice, and on from there: from a call to its packages, and back.
function arrowsOf(row, at) {
  const begin = field(row, at, BEGIN), end = endOf(row, at), list = data.arrows, found = new Set();
  const within = (r, t) => r === row.number && t >= begin && t <= end;
  const follow = (matches, next) => {
    const meets = new Set();
    for (let i = 0; i < list.length; i += 4) {
      if (matches(i)) { found.add(i); meets.add(list[i + next] + " " + list[i + next + 1]); }
    }
    const other = 2 - next;
    for (let i = 0; meets.size && i < list.length; i += 4) {
      if (meets.has(list[i + other] + " " + list[i + other + 1])) found.add(i);
    }
  };
  follow((i) => within(list[i], list[i + 1]), 2);
  follow((i) => within(list[i + 2], list[i + 3]), 0);
  return [...found].map((i) => list.slice(i, i + 4));
}

function ticks(width) {
  const rough = (view.to - view.from) / Math.max(2, width / 110);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough);
  const list = [];
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) list.push(t);
  return {step, list};
}
function tickText(t, step) {
  const unit = step >= 1e9 ? [1e9, "s"] : step >= 1e6 ? [1e6, "ms"] : step >= 1e3 ? [1e3, "µs"]
                                                                                  : [1, "ns"];
  return Math.round(t / unit[0]).toLocaleString("en").replaceAll(",", "\u202f") + " " + unit[1];
}

let pending = false;
function redraw() {
  if (!pending) { pending = true; requestAnimationFrame(draw); }
}
function draw() {
  pending = false;
  const width = Math.max(50, $("timeline").clientWidth - LABELS - ($("scroller").offsetWidth -
                                                                    $("scroller").clientWidth));
  const font = "12px " + getComputedStyle(document.body).fontFamily;
  canvas.style.width = width + "px";
  const context = fit(canvas, width, height);
  context.font = font;
  context.textBaseline = "middle";
  const {step, list} = ticks(width);
  const x = (t) => (t - view.from) / (view.to - view.from) * width;
  context.fillStyle = colors.soft;
  for (const row of rows) {
    if (row.groupTop !== undefined) context.fillRect(0, row.groupTop, width, GROUP);
  }
  context.strokeStyle = colors.line;
  context.lineWidth = 1;
  context.beginPath();
  for (const t of list) {
    const at = Math.round(x(t)) + 0.5;
    context.moveTo(at, 0);
    context.lineTo(at, height);
  }
  context.stroke();
  for (const row of rows) drawRow(context, row, width);
  drawArrows(context, width);

  const full = $("timeline").clientWidth;
  axis.style.width = overview.style.width = full + "px";
  const top = fit(axis, full, 28);
  top.font = font;
  top.textBaseline = "middle";
  top.fillStyle = colors.quiet;
  top.fillText(time(view.to - view.from) + " shown", 10, 14);
  for (const t of list) {
    const text = tickText(t, step), at = LABELS + x(t);
    if (at + 8 + top.measureText(text).width < full) top.fillText(text, at + 5, 14);
    top.fillRect(Math.round(at), 18, 1, 10);
  }
  drawOverview(full);
  document.body.dataset.drawn = total;
}

function drawOverview(full) {
  const context = fit(overview, full, 40);
  const width = full - LABELS;
  const moving = ["transfers", "early reads"];
  const lanes = rows.filter((row) => row.device !== null && !moving.includes(row.name));
  const tall = Math.max(2, Math.min(12, 32 / Math.max(1, lanes.length)));
  lanes.forEach((row, lane) => {
    let last = -1;
    for (let i = 0; i < row.count; ++i) {
      const x0 = LABELS + field(row, i, BEGIN) / span * width;
      const wide = Math.max(1, field(row, i, LENGTH) / span * width);
      if (wide <= 1 && Math.floor(x0) === last) continue;
      last = Math.floor(x0);
      context.fillStyle = colorOf(row, i);
      context.fillRect(x0, 4 + lane * tall, wide, tall - 1);
    }
  });
  const a = LABELS + view.from / span * width, b = LABELS + view.to / span * width;
  context.fillStyle = colors.quiet;
  context.font = "12px " + getComputedStyle(document.body).fontFamily;
  context.textBaseline = "middle";
  context.fillText("all of it", 10, 20);
  context.globalAlpha = 0.12;
  context.fillRect(LABELS, 0, a - LABELS, 40);
  context.fillRect(b, 0, full - b, 40);
  context.globalAlpha = 1;
  context.strokeStyle = colors.accent;
  context.lineWidth = 1.5;
  context.strokeRect(a, 1, Math.max(3, b - a) - 1, 38);
}

function show(from, to) {
  const least = Math.min(100, span);
  let length = Math.max(least, Math.min(span, to - from));
  from = Math.max(0, Math.min(span - length, from));
  view.from = from;
  view.to = from + length;
  redraw();
}
function zoom(factor, around) {
  const at = around === undefined ? (view.from + view.to) / 2 : around;
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}
function showKernels() {
  let from = Infinity, to = 0;
  for (const row of rows) {
    if (row.device === null) continue;
    from = Math.min(from, field(row, 0, BEGIN));
    to = Math.max(to, row.reach[row.count - 1]);
  }
  if (to > from) show(from - (to - from) * 0.02, to + (to - from) * 0.02);
}

// ---- what the pointer and the keys do ------------------------------------------------------------

function timeAt(event) {
  const box = canvas.getBoundingClientRect();
  return view.from + (event.clientX - box.left) / box.width * (view.to - view.from);
}
function sliceAt(event) {
  const box = canvas.getBoundingClientRect();
  const y = event.clientY - box.top, t = timeAt(event);
  const slack = (view.to - view.from) / box.width * 2;
  const row = rows.find((r) => y >= r.top && y < r.top + r.lines * LINE);
  if (!row) return null;
  const depth = Math.floor((y - row.top) / LINE);
  let best = null, distance = slack;
  for (let i = firstVisible(row, t - slack); i < row.count; ++i) {
    if (field(row, i, BEGIN) > t + slack) break;
    if (row.depth[i] !== depth) continue;
    const away = Math.max(field(row, i, BEGIN) - t, t - endOf(row, i), 0);
    if (away < distance || (away === 0 && distance === 0)) { best = i; distance = away; }
  }
  return best === null ? null : {row, at: best};
}

function facts({row, at}) {
  const kind = kindOf(row, at), text = (which) => data.texts[field(row, at, which)];
  const list = [["when", time(field(row, at, BEGIN)) + " after the begin, for " +
                             time(field(row, at, LENGTH))]];
  const launch = launchOf.get(field(row, at, COMMAND));
  if (kind === PACKAGE) {
    list.push(["slices", field(row, at, X) + " to " + (field(row, at, X) + field(row, at, Y) - 1) +
                             ", " + field(row, at, Y) + (launch ? " of " + launch.slices : "")]);
  }
  if (kind === TRANSFER || (kind === HOST && field(row, at, X) > 0)) {
    const ns = field(row, at, LENGTH);
    list.push(["bytes", bytes(field(row, at, X)) + (kind === TRANSFER ? " " + WAYS[wayOf(row, at)] : "") +
                            (ns > 0 ? ", " + (field(row, at, X) / ns).toFixed(2) + " GB/s" : "")]);
  }
  if (text(WHY)) list.push([kind === API ? "error" : "why", text(WHY)]);
  if (kind === TRANSFER && text(KERNEL_NAME)) {
    list.push(["kernel", text(KERNEL_NAME) + (text(ARGUMENT) ? ", argument " + text(ARGUMENT) : "")]);
  }
  if ([PACKAGE, KERNEL, TRANSFER].includes(kind)) list.push(["device", deviceName(field(row, at, DEVICE))]);
  if (launch && [PACKAGE, KERNEL, DECISION, MERGE].includes(kind)) {
    const verdict = launch.kernel.verdicts[launch.verdict];
    list.push(["verdict", (verdict.mode === "whole" ? "whole" : verdict.mode + ", along dimension " +
                           launch.dimension) + (verdict.reason ? ": " + verdict.reason : "")]);
    list.push(["launch", count(launch.items, "work-item") +
                             (launch.ended ? ", " + time(launch.end - launch.begin) : ", not ended") +
                             (launch.efficiency ? ", efficiency " + score(launch.efficiency) : "")]);
  }
  if (launch && kind !== TRANSFER && (launch.expected_split_ns || launch.expected_whole_ns)) {
    list.push(["expected", [[launch.expected_split_ns, " split"], [launch.expected_whole_ns, " whole"]]
        .filter(([ns]) => ns).map(([ns, words]) => time(ns) + words).join(", ")]);
  }
  if (field(row, at, COMMAND)) list.push(["command", "number " + field(row, at, COMMAND)]);
  return list;
}
const titleOf = ({row, at}) => {
  const kind = kindOf(row, at);
  return kind === TRANSFER ? "Transfer " + WAYS[wayOf(row, at)]
       : kind === PACKAGE ? "Package of " + data.texts[field(row, at, NAME)]
       : data.texts[field(row, at, NAME)];
};

function showTip(event) {
  const found = drag ? null : sliceAt(event), tip = $("tip");
  tip.hidden = !found;
  if (!found) return;
  tip.replaceChildren(element("b", {}, titleOf(found)),
                      ...facts(found).slice(0, 5).map(([k, v]) => element("span", {}, k + ": " + v)));
  const box = tip.getBoundingClientRect();
  const right = event.clientX + 16 + box.width > innerWidth;
  tip.style.left = Math.max(4, right ? event.clientX - box.width - 12 : event.clientX + 16) + "px";
  tip.style.top = Math.max(4, Math.min(innerHeight - box.height - 4, event.clientY + 16)) + "px";
}
function choose(which) {
  chosen = which && {...which, arrows: arrowsOf(which.row, which.at)};
  $("details").replaceChildren();
  if (which) {
    $("details").append(element("h3", {}, titleOf(which)), element("dl", {}, facts(which).map(
        ([k, v]) => [element("dt", {}, k), element("dd", {}, v)])));
    const begin = field(which.row, which.at, BEGIN), end = endOf(which.row, which.at);
    const length = view.to - view.from;
    if (end < view.from || begin > view.to) show(begin - length / 3, begin + length * 2 / 3);
  }
  redraw();
}

let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  drag = {x: event.clientX, from: view.from, moved: false};
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (drag) {
    const by = event.clientX - drag.x;
    if (Math.abs(by) > 3) drag.moved = true;
    if (drag.moved) {
      canvas.classList.add("dragging");
      const length = view.to - view.from, from = drag.from - by / canvas.clientWidth * length;
      show(from, from + length);
    }
  }
  showTip(event);
});
canvas.addEventListener("pointerup", (event) => {
  const moved = drag && drag.moved;
  drag = null;
  canvas.classList.remove("dragging");
  if (!moved) choose(sliceAt(event));
});
canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const length = view.to - view.from;
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    const by = (event.deltaX || event.deltaY) / canvas.clientWidth * length;
    show(view.from + by, view.to + by);
  } else {
    zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.005), timeAt(event));
  }
  showTip(event);
}, {passive: false});
overview.addEventListener("pointerdown", (event) => {
  const box = overview.getBoundingClientRect();
  const at = (event.clientX - box.left - LABELS) / (box.width - LABELS) * span;
  const half = (view.to - view.from) / 2;
  show(at - half, at + half);
});

function step(rowBy, by) {
  if (!rows.length) return;
  if (!chosen) {
    const row = rows.find((r) => r.device !== null) || rows[0];
    return choose({row, at: Math.min(firstVisible(row, view.from), row.count - 1)});
  }
  if (rowBy === 0) {
    const at = chosen.at + by;
    if (at >= 0 && at < chosen.row.count) choose({row: chosen.row, at});
    return;
  }
  const next = rows[rows.indexOf(chosen.row) + rowBy];
  if (!next) return;
  const t = field(chosen.row, chosen.at, BEGIN);
  choose({row: next, at: Math.min(firstVisible(next, t), next.count - 1)});
  $("scroller").scrollTop = Math.max(0, next.top - 200);
}
canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const length = view.to - view.from;
  const middle = chosen ? field(chosen.row, chosen.at, BEGIN) : undefined;
  const inView = middle >= view.from && middle <= view.to ? middle : undefined;
  const move = (part) => show(view.from + part * length, view.to + part * length);
  const keys = {
    ArrowLeft: () => event.shiftKey ? move(-0.2) : step(0, -1),
    ArrowRight: () => event.shiftKey ? move(0.2) : step(0, 1),
    ArrowUp: () => step(-1, 0),
    ArrowDown: () => step(1, 0),
    "+": () => zoom(0.6, inView), "=": () => zoom(0.6, inView), "-": () => zoom(1 / 0.6, inView),
    "0": () => show(0, span), Home: () => show(0, span), k: showKernels,
    Escape: () => choose(null),
  };
  const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (action) { event.preventDefault(); action(); }
});
$("zoom-in").onclick = () => zoom(0.5);
$("zoom-out").onclick = () => zoom(2);
$("zoom-all").onclick = () => show(0, span);
$("zoom-kernels").onclick = showKernels;

for (const [words, color] of [["API calls", "--api"], ["work of the host", "--host"],
                              ["decided to split", "--split"], ["decided to run whole", "--whole"],
                              ["merge", "--merge"],
                              ...data.devices.map((d) => [d.index + " " + d.name,
                                                          deviceColor(d.index).slice(4, -1)])]) {
  $("legend").append(element("span", {}, element("i", {style: `background:var(${color})`}), words));
}
$("legend").append(element("span", {}, "Transfers are paler."));
if (data.omitted > 0) {
  $("legend").append(element("span", {"data-key": "omitted"}, count(data.omitted, "shortest event") +
                             " left out of the picture (all numbers count them)"));
}

// ---- devices -----------------------------------------------------------------------------------

function shareBar(parts) {  // [device, share]
  return element("div", {class: "share", role: "img",
      "aria-label": parts.map(([d, s]) => deviceName(d) + " " + percent(s)).join(", ")},
      parts.filter(([, share]) => share > 0).map(([device, share]) => element("div", {
        style: `width:${100 * share}%;background:${deviceColor(device)}`,
        title: deviceName(device) + ": " + percent(share)}, share > 0.05 ? percent(share) : "")));
}
const named = (index) => [element("i", {class: "dot", style: "background:" + deviceColor(index)}),
                          deviceName(index)];
$("shares").append(shareBar(data.devices.map((d) => [d.index, d.share])),
                   element("p", {class: "quiet"}, "Shares of the devices’ busy time"));
$("devices").append(...table(
    ["device", "busy", "of the time", "share", "packages", "whole launches", "to the device", "back"],
    data.devices.map((d) => element("tr", {"data-device": d.index},
        element("td", {}, named(d.index), element("div", {class: "quiet hint"}, d.platform +
                (d.shares_host_memory ? ", shares the host’s memory" : ""))),
        cell("busy_ns", d.busy_ns, time(d.busy_ns)),
        cell("utilisation", d.utilisation, percent(d.utilisation)),
        cell("share", d.share, percent(d.share)), cell("packages", d.packages, "" + d.packages),
        cell("whole_launches", d.whole_launches, "" + d.whole_launches),
        cell("bytes_to_device", d.bytes_to_device, bytes(d.bytes_to_device)),
        cell("bytes_to_host", d.bytes_to_host, bytes(d.bytes_to_host))))));

// ---- energy ------------------------------------------------------------------------------------

const joules = (value) => value ? value.toPrecision(4) + " J" : "–";
const delay = (value) => value ? value.toPrecision(4) + " J s" : "–";

/// The watts that a sensor told, over the whole trace.
function powerChart(sensor) {
  const WIDTH = 1000, TALL = 110, LEFT = 60, BOTTOM = 24, TOP = 8;
  const power = sensor.power, most = Math.max(1e-9, ...power.filter((_, i) => i % 2));
  const x = (t) => LEFT + t / Math.max(1, data.duration) * (WIDTH - LEFT - 8);
  const y = (w) => TOP + (1 - w / most) * (TALL - TOP - BOTTOM);
  let path = "";
  for (let i = 0; i + 3 < power.length; i += 2) {
    path += `${path ? "L" : "M"}${x(power[i])} ${y(power[i + 1])}L${x(power[i + 2])} ${y(power[i + 1])}`;
  }
  const svg = element("svg", {viewBox: `0 0 ${WIDTH} ${TALL}`, role: "img",
      "aria-label": sensor.name + ", power over time, at most " + most.toPrecision(3) + " W"});
  svg.append(element("line", {x1: LEFT, x2: WIDTH - 8, y1: y(0), y2: y(0), stroke: "var(--line)"}),
             element("path", {d: path, fill: "none", stroke: deviceColor(sensor.devices[0]),
                              "stroke-width": 2}),
             element("text", {x: 6, y: y(most) + 6}, most.toPrecision(3) + " W"),
             element("text", {x: 6, y: y(0)}, "0 W"),
             element("text", {x: LEFT, y: TALL - 7}, "0"),
             element("text", {x: WIDTH - 8, y: TALL - 7, "text-anchor": "end"}, time(data.duration)));
  return svg;
}

if (data.energy.sensors.length || data.energy.absent) {
  $("energy-section").hidden = false;
  if (data.energy.sensors.length) {
    $("energy").append(element("p", {}, element("b", {"data-key": "joules",
        "data-value": data.energy.joules}, joules(data.energy.joules)), " in " +
        data.energy.seconds.toPrecision(4) + " s, energy-delay product ",
        element("b", {"data-key": "energy_delay", "data-value": data.energy.energy_delay},
                delay(data.energy.energy_delay))));
  }
  for (const sensor of data.energy.sensors) {
    $("energy").append(element("h4", {}, sensor.name), element("p", {class: "quiet"},
        joules(sensor.joules) + ", " + sensor.watts.toPrecision(4) + " W on average, " +
        joules(sensor.busy_joules) + " of it while kernels ran"), powerChart(sensor));
    $("energy").append(element("div", {class: "scroll"}, element("table", {}, ...table(
        ["device", "while it computed"],
        data.devices.filter((d) => sensor.devices.includes(d.index)).map((d) => element("tr",
            {"data-device": d.index}, element("td", {}, named(d.index)),
            cell("joules", d.joules, joules(d.joules))))))));
  }
  if (data.energy.absent) {
    $("energy").append(element("p", {class: "quiet"}, "Not measured of " + data.energy.absent));
  }
}

// ---- kernels -----------------------------------------------------------------------------------

const launchOf = new Map();
for (const kernel of data.kernels) {
  for (const launch of kernel.all) launchOf.set(launch.command, Object.assign(launch, {kernel}));
}
const packagesOf = new Map();
for (const row of rows) {
  for (let i = 0; i < row.count; ++i) {
    const kind = kindOf(row, i);
    if (kind !== PACKAGE && kind !== KERNEL) continue;
    const command = field(row, i, COMMAND);
    if (!packagesOf.has(command)) packagesOf.set(command, []);
    packagesOf.get(command).push({row, at: i});
  }
}

/// One launch's packages: each device's packages over time, as high as they are large.
function packageChart(launch) {
  const WIDTH = 1000, LANE = 54, LEFT = 34, BOTTOM = 24;
  const packages = packagesOf.get(launch.command) || [];
  const devices = [...new Set(packages.map((p) => field(p.row, p.at, DEVICE)))].sort((a, b) => a - b);
  const tall = Math.max(1, devices.length) * LANE + BOTTOM;
  const from = launch.begin, length = Math.max(1, launch.end - launch.begin);
  const x = (t) => LEFT + Math.max(0, Math.min(1, (t - from) / length)) * (WIDTH - LEFT - 8);
  const largest = Math.max(1, ...packages.map((p) => field(p.row, p.at, Y)));
  const svg = element("svg", {viewBox: `0 0 ${WIDTH} ${tall}`, role: "img",
      "aria-label": count(packages.length, "package") + " on " + count(devices.length, "device")});
  devices.forEach((device, lane) => {
    const base = (lane + 1) * LANE - 4;
    svg.append(element("text", {x: 6, y: base - 6}, "" + device),
               element("line", {x1: LEFT, x2: WIDTH - 8, y1: base, y2: base, stroke: "var(--line)"}));
    for (const p of packages.filter((q) => field(q.row, q.at, DEVICE) === device)) {
      const size = field(p.row, p.at, Y) || largest;
      const x0 = x(field(p.row, p.at, BEGIN)), wide = Math.max(1.5, x(endOf(p.row, p.at)) - x0 - 1);
      const high = Math.max(4, size / largest * (LANE - 18));
      svg.append(element("rect", {class: "package", x: x0, y: base - high, width: wide, height: high,
          rx: Math.min(2, wide / 3), fill: deviceColor(device),
          onclick: () => { choose(p); $("timeline-title").scrollIntoView(); }},
          element("title", {}, titleOf(p) + "\n" + facts(p).map(([k, v]) => k + ": " + v).join("\n"))));
      const words = "" + size;
      if (field(p.row, p.at, Y) > 0 && wide > 8 * words.length + 4 && high > 15) {
        svg.append(element("text", {x: x0 + wide / 2, y: base - high / 2 + 4, "text-anchor": "middle",
                                    style: "fill:var(--on-device);pointer-events:none"}, words));
      }
    }
  });
  for (let i = 0; i <= 4; ++i) {
    svg.append(element("text", {x: x(from + length * i / 4), y: tall - 7,
        "text-anchor": i === 0 ? "start" : i === 4 ? "end" : "middle"}, i === 0 ? "0" : time(length * i / 4)));
  }
  return svg;
}

function launchChooser(kernel) {
  const box = element("div", {});
  const launches = kernel.all;
  const draw = (number) => {
    const launch = launches[number];
    box.replaceChildren(element("div", {class: "chooser"},
        element("span", {}, "Launch ", element("b", {}, "" + (number + 1)), " of " + launches.length),
        launches.length > 1 ? element("input", {type: "range", min: 0, max: launches.length - 1,
            value: number, "aria-label": "Launch", oninput: (event) => {
              draw(+event.target.value); box.querySelector("input").focus(); }}) : null,
        element("span", {class: "quiet"}, (launch.ended ? time(launch.end - launch.begin) : "not ended") +
            (launch.failed ? ", failed" : "") + ", " + count(launch.packages, "package") +
            (launch.slices ? " of " + count(launch.slices, "slice") : "") +
            (launch.efficiency ? ", efficiency " + score(launch.efficiency) : "")),
        element("button", {onclick: () => {
          const spare = (launch.end - launch.begin) * 0.08 + 100;
          show(launch.begin - spare, launch.end + spare);
          $("timeline-title").scrollIntoView();
        }}, "Show in the timeline")), packageChart(launch));
  };
  let last = launches.length - 1;
  for (let i = last; i >= 0; --i) if (launches[i].split && launches[i].ended) { last = i; break; }
  draw(last);
  return box;
}

function movedTable(moved) {
  return element("div", {class: "scroll"}, element("table", {}, ...table(
      [{words: "why"}, "bytes", {words: "where"}, "transfers", "time", "rate"],
      moved.map((m) => element("tr", {},
          element("td", {class: "words"}, m.why + (m.argument ? ", argument " : ""),
                  m.argument ? element("code", {}, m.argument) : null),
          cell("moved_bytes", m.bytes, bytes(m.bytes)),
          element("td", {class: "words"}, WAYS[m.way].replace("the device", deviceName(m.device)) +
                  (m.way === 1 ? ", from " + deviceName(m.device) : "")),
          cell("transfers", m.transfers, "" + m.transfers), cell("moved_ns", m.ns, time(m.ns)),
          element("td", {}, m.ns ? (m.bytes / m.ns).toFixed(2) + " GB/s" : "–"))))));
}

function compareBars(kernel) {
  const lines = [["took", kernel.split_ns, "var(--ink)", "split_ns"],
                 ["ideal", kernel.ideal_ns, "var(--accent)", "ideal_ns"],
                 ["best device alone (" + kernel.best_device + ")", kernel.best_ns,
                  deviceColor(kernel.best_device), "best_ns"]];
  const most = Math.max(...lines.map((l) => l[1]));
  return element("div", {class: "bars"}, lines.map(([words, ns, color, key]) => [
    element("span", {}, words),
    element("div", {class: "bar", style: `width:${100 * ns / most}%;background:${color}`}),
    element("b", {"data-key": key, "data-value": ns}, time(ns))]));
}

function kernelSection(kernel, open) {
  const section = element("details", {class: "kernel", "data-kernel": kernel.name, open: open ? "" : null},
      element("summary", {}, element("h3", {}, element("code", {}, kernel.name)),
          element("span", {class: "chip " + (kernel.split ? "split" : "whole")},
                  kernel.split === kernel.launches ? "split" : kernel.split === 0 ? "whole"
                      : kernel.split + " of " + kernel.launches + " split"),
          element("span", {class: "quiet"}, count(kernel.launches, "launch", "launches") + ", " +
                  time(kernel.total_ns) + " in all, median " + time(kernel.median_ns) +
                  (kernel.efficiency ? ", efficiency " + score(kernel.efficiency) : "") +
                  (kernel.joules ? ", " + joules(kernel.joules) + ", energy-delay product " +
                   delay(kernel.energy_delay) : "") +
                  (kernel.failed ? ", " + kernel.failed + " failed" : "") +
                  (kernel.unfinished ? ", " + kernel.unfinished + " not ended" : ""))));
  section.append(element("ul", {class: "verdicts"}, kernel.verdicts.map((v) => element("li",
      {"data-key": "verdict", "data-value": v.mode, "data-launches": v.launches},
      element("b", {}, v.launches + " × " + v.mode), v.reason ? ": " + v.reason : ""))));
  const left = element("div", {}), right = element("div", {});
  left.append(element("h4", {}, "Shares of the work-items"),
              shareBar(kernel.devices.map((d) => [d.device, d.share])));
  if (kernel.measured_launches > 0) {
    right.append(element("h4", {}, count(kernel.measured_launches, "split launch", "split launches") +
                         " against the ideal: efficiency ", element("span",
                         {"data-key": "efficiency", "data-value": kernel.efficiency},
                         score(kernel.efficiency)), ", median " +
                         score(kernel.median_efficiency)), compareBars(kernel));
  }
  section.append(element("div", {class: "two"}, left, right));
  section.append(element("div", {class: "scroll parts"}, element("table", {}, ...table(
      ["device", "work-items", "share", "packages", "sizes, in slices", "whole launches", "busy", "work-items/s", "energy"],
      kernel.devices.map((d) => element("tr", {"data-device": d.device},
          element("td", {}, named(d.device)), cell("items", d.items, rate(d.items)),
          cell("share", d.share, percent(d.share)), cell("packages", d.packages, "" + d.packages),
          cell("sizes", d.smallest + "-" + d.largest, d.packages ? d.smallest === d.largest
              ? "" + d.smallest : d.smallest + " to " + d.largest : "–"),
          cell("whole_launches", d.whole_launches, "" + d.whole_launches),
          cell("busy_ns", d.busy_ns, time(d.busy_ns)), cell("speed", d.speed, rate(d.speed)),
          cell("joules", d.joules, joules(d.joules))))))));
  section.append(element("h4", {}, "Packages over time; as high as they are large"), launchChooser(kernel));
  if (kernel.merges) {
    section.append(element("p", {class: "quiet"}, count(kernel.merges, "merge") + ", " + time(kernel.merge_ns)));
  }
  section.append(element("h4", {}, "Bytes moved, and why"));
  section.append(kernel.moved.length ? movedTable(kernel.moved)
      : element("p", {class: "quiet"}, "None: the data were where they were needed."));
  return section;
}
readColors();
data.kernels.forEach((kernel, i) => {
  // What is closed is made when it is opened: there may be thousands.
  if (i < 12) return $("kernels").append(kernelSection(kernel, i < 4));
  const stub = kernelSection({...kernel, all: kernel.all.slice(-1)}, false);
  stub.addEventListener("toggle", () => stub.replaceWith(kernelSection(kernel, true)), {once: true});
  $("kernels").append(stub);
});
if (!data.kernels.length) $("kernels").append(element("p", {class: "quiet"}, "None was launched."));

// ---- the application ---------------------------------------------------------------------------

$("application").append(data.asked.length
    ? element("table", {}, ...table(["what", "commands", "bytes", "time"], data.asked.map((a) =>
          element("tr", {}, element("td", {}, a.what), cell("commands", a.commands, "" + a.commands),
                  cell("asked_bytes", a.bytes, bytes(a.bytes)), cell("asked_ns", a.ns, time(a.ns))))))
    : element("p", {class: "quiet"}, "None."));
if (data.moved.length) {
  $("application").append(element("h4", {}, "Moved between host and devices for them"), movedTable(data.moved));
}

// ---- begin -------------------------------------------------------------------------------------

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColors(); redraw(); });
new ResizeObserver(redraw).observe($("timeline"));
showKernels();
draw();
})();
