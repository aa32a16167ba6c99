// ---- measuring a range of the timeline ------------------------------------------------------------

let range = null;  // {from, to}

/// How much of [from, to] some of these pieces cover; they come by their begin.
function covered(pieces) {
  let sum = 0, until = -1;
  for (const [from, to] of pieces) {
    if (to <= until) continue;
    sum += to - Math.max(from, until);
    until = to;
  }
  return sum;
}

function measureRange() {
  const {from, to} = range, length = Math.max(1, to - from);
  const devices = new Map(data.devices.map((d) => [d.index, {pieces: [], runs: 0}]));
  const kernels = new Map();
  const sums = {calls: 0, transfers: 0, bytes: 0, packages: 0, whole: 0, merges: 0};
  const commands = new Set();
  for (const row of rows) {
    for (let at = firstVisible(row, from); at < row.count && field(row, at, BEGIN) <= to; ++at) {
      if (endOf(row, at) < from) continue;
      const kind = kindOf(row, at);
      const piece = [Math.max(from, field(row, at, BEGIN)), Math.min(to, endOf(row, at))];
      if (kind !== API && field(row, at, COMMAND)) commands.add(field(row, at, COMMAND));
      if (kind === API) ++sums.calls;
      if (kind === MERGE) ++sums.merges;
      if (kind === TRANSFER) { ++sums.transfers; sums.bytes += field(row, at, X); }
      if (kind === PACKAGE || kind === KERNEL) {
        ++sums[kind === PACKAGE ? "packages" : "whole"];
        const device = field(row, at, DEVICE), name = data.texts[field(row, at, NAME)];
        if (!devices.has(device)) devices.set(device, {pieces: [], runs: 0});
        devices.get(device).pieces.push(piece);
        ++devices.get(device).runs;
        if (!kernels.has(name)) kernels.set(name, {pieces: [], runs: 0});
        kernels.get(name).pieces.push(piece);
        ++kernels.get(name).runs;
      }
    }
  }
  const busy = (entry) => covered(entry.pieces.sort((a, b) => a[0] - b[0]));
  return {length, devices, kernels, sums, commands: commands.size, busy};
}

function showRange() {
  $("measure").replaceChildren();
  if (range) {
    const {length, devices, kernels, sums, commands, busy} = measureRange();
    const line = (name, entry) => [element("dt", {}, name), element("dd", {}, time(busy(entry)) +
        " busy, " + percent(busy(entry) / length) + ", " + count(entry.runs, "run"))];
    $("measure").append(
        element("div", {class: "heading"}, element("h3", {"data-key": "measured",
            "data-value": Math.round(range.to - range.from)}, time(range.to - range.from)),
            element("div", {class: "tools"},
                element("button", {type: "button", onclick: () => show(range.from, range.to)}, "Zoom to it"),
                element("button", {type: "button", onclick: () => setRange(null)}, "Forget it"))),
        element("p", {class: "quiet"}, "From " + moment(range.from) + " to " + moment(range.to)),
        element("dl", {},
            element("dt", {}, "inside"), element("dd", {}, [
              count(commands, "command"), count(sums.packages, "package"),
              count(sums.whole, "whole launch", "whole launches"), count(sums.merges, "merge"),
              count(sums.transfers, "transfer") + " of " + bytes(sums.bytes),
              count(sums.calls, "call")].join(", ")),
            [...devices].filter(([, d]) => d.runs).map(([index, d]) => line(deviceName(index), d)),
            [...kernels].sort((a, b) => busy(b[1]) - busy(a[1])).slice(0, 8).map(
                ([name, k]) => line(name, k))));
  }
  redraw();
}
function setRange(next) {
  range = next && {from: Math.max(0, Math.min(next.from, next.to)),
                   to: Math.min(span, Math.max(next.from, next.to))};
  showRange();
}
/// Around the chosen event; `more`: the range grows until it holds that, too.
function measureChosen(more) {
  if (!chosen) return;
  const from = field(chosen.row, chosen.at, BEGIN), to = endOf(chosen.row, chosen.at);
  setRange(more && range ? {from: Math.min(range.from, from), to: Math.max(range.to, to)} : {from, to});
}

function drawRange(context, width) {
  if (!range) return;
  const x = (t) => (t - view.from) / (view.to - view.from) * width;
  const a = Math.max(-2, x(range.from)), b = Math.min(width + 2, x(range.to));
  if (b < a) return;
  context.fillStyle = colors.accent;
  context.globalAlpha = 0.16;
  context.fillRect(a, 0, Math.max(1, b - a), height);
  context.globalAlpha = 1;
  context.fillRect(a, 0, 1, height);
  context.fillRect(b, 0, 1, height);
}

