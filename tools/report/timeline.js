// ---- head --------------------------------------------------------------------------------------

document.title = data.program + " – Tutti report";
$("program").textContent = data.program;
$("subtitle").textContent = "Process " + data.process + ", " + time(data.duration) +
    " traced, from " + data.source;
$("broken").hidden = data.complete;

const measured = data.kernels.filter((k) => k.ideal_ns > 0);
const sum = (list, key) => list.reduce((all, entry) => all + entry[key], 0);
const cards = [
  [grouped(data.launches), "launches of " + count(data.kernels.length, "kernel"), "launches"],
  [data.launches ? percent(data.split / data.launches) : "–", "of them split", "split"],
  [measured.length ? score(sum(measured, "ideal_ns") / sum(measured, "split_ns")) : "–",
   "efficiency of split launches", "efficiency"],
  [bytes(data.bytes_to_device), "to the devices", "bytes_to_device"],
  [bytes(data.bytes_to_host), "back from them", "bytes_to_host"],
  [time(data.call_ns), "in " + count(data.calls, "OpenCL call"), "calls"],
  [grouped(data.lost), (data.lost === 1 ? "event" : "events") +
      " lost while tracing", "lost"],
];
for (const [value, words, key] of cards) {
  $("cards").append(element("div", {class: "card" + (key === "lost" && data.lost ? " bad" : ""),
                                    "data-key": key},
                            element("b", {}, "" + value), element("span", {}, words)));
}

// ---- timeline ----------------------------------------------------------------------------------

const STRIDE = 11, LINE = 18, GAP = 4, GROUP = 22;
// How wide the rows' names may be: less where there is little room.
let LABELS = 220;
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
                      "merge", "idle", "arrow", "wait", "accent", "on-device",
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
    const pale = matches(row, i) ? 1 : 0.13;
    context.globalAlpha = pale * (kind === TRANSFER ? 0.6 : kind === API && depth > 0 ? 0.75 : 1);
    context.fillStyle = colorOf(row, i);
    context.fillRect(x0, y, Math.max(1, wide > 4 ? wide - 1 : wide), LINE - 2);
    context.globalAlpha = 1;
    if (wide > 34 && pale === 1) {
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
  for (const [fromRow, from, toRow, to, kind] of chosen.arrows) {
    if (++drawn > 500) break;
    const a = rowOf.get(fromRow), b = rowOf.get(toRow);
    if (!a || !b) continue;
    // Dashed: who waited for whom.
    context.setLineDash(kind === undefined ? [] : [5, 3]);
    context.strokeStyle = context.fillStyle = kind === undefined ? colors.arrow : colors.wait;
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
  context.setLineDash([]);
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
  return [...found].map((i) => list.slice(i, i + 4)).concat(waitArrows(field(row, at, COMMAND)));
}

function ticks(width) {
  const rough = (view.to - view.from) / Math.max(2, width / 90);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough);
  const list = [];
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) list.push(t);
  return {step, list};
}
function tickText(t, step) {
  // Without more digits than tell the steps apart.
  const [size, unit] = t >= 1e9 ? [1e9, "s"] : t >= 1e6 ? [1e6, "ms"] : t >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const decimals = Math.max(0, Math.round(Math.log10(size)) - Math.floor(Math.log10(Math.max(step, 1))));
  return (t / size).toFixed(decimals) + " " + unit;
}

let pending = false;
function redraw() {
  if (!pending) { pending = true; requestAnimationFrame(draw); }
}
function draw() {
  pending = false;
  LABELS = $("timeline").clientWidth < 640 ? 96 : 220;
  $("labels").style.flexBasis = LABELS + "px";
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
  drawRange(context, width);
  drawArrows(context, width);

  const full = $("timeline").clientWidth;
  axis.style.width = overview.style.width = full + "px";
  const top = fit(axis, full, 28);
  top.font = font;
  top.textBaseline = "middle";
  top.fillStyle = colors.quiet;
  top.fillText(time(view.to - view.from) + (LABELS > 100 ? " shown" : ""), 10, 14);
  let taken = 0;
  for (const t of list) {
    const text = tickText(t, step), at = LABELS + x(t), end = at + 8 + top.measureText(text).width;
    if (at >= taken && end < full) { top.fillText(text, at + 5, 14); taken = end; }
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
