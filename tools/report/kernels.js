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
function packageChart(launch, WIDTH) {
  const LANE = 54, LEFT = 34, BOTTOM = 24;
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
  const steps = WIDTH < 420 ? 2 : 4;
  for (let i = 0; i <= steps; ++i) {
    svg.append(element("text", {x: x(from + length * i / steps), y: tall - 7,
        "text-anchor": i === 0 ? "start" : i === steps ? "end" : "middle"}, i === 0 ? "0" : time(length * i / steps)));
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
        }}, "Show in the timeline")), chart((width) => packageChart(launch, width)));
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
          element("td", {}, m.ns ? digits(m.bytes / m.ns) + " GB/s" : "–"))))));
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

function kernelSection(kernel, number) {
  const section = element("details", {class: "kernel", id: "kernel-" + number,
      "data-kernel": kernel.name, open: number < 4 ? "" : null},
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
  // What is closed is made when it is opened: there may be thousands.
  if (number < 12) fillSection(section, kernel);
  else section.addEventListener("toggle", () => fillSection(section, kernel), {once: true});
  return section;
}
function fillSection(section, kernel) {
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
}
const lost = (kernel) => kernel.gain > 0 && kernel.gain < 1;
const kernelColumns = [
  {key: "kernel", title: "kernel", words: true, value: (k) => k.name,
   show: (k) => element("a", {href: "#kernel-" + data.kernels.indexOf(k), onclick: () => {
     $("kernel-" + data.kernels.indexOf(k)).open = true;
   }}, element("code", {}, k.name))},
  {key: "total_ns", title: "time", hint: "Of all its launches", value: (k) => k.total_ns, show: (k) => time(k.total_ns)},
  {key: "share", title: "of kernels’ time", hint: "Its time by that of all kernels", value: (k) => k.share,
   show: (k) => percent(k.share)},
  {key: "run_share", title: "of the whole time", hint: "Part of the traced time in which some launch of it ran",
   value: (k) => k.run_share,
   show: (k) => [element("span", {class: "meter", "aria-hidden": "true"},
                         element("i", {style: `width:${100 * Math.min(1, k.run_share)}%`})),
                element("span", {class: "beside-meter"}, percent(k.run_share))]},
  {key: "launches", title: "launches", value: (k) => k.launches, show: (k) => "" + k.launches},
  {key: "split", title: "split", hint: "Launches that were split", value: (k) => k.split, show: (k) => "" + k.split},
  {key: "median_ns", title: "median", hint: "Time of a launch", value: (k) => k.median_ns, show: (k) => time(k.median_ns)},
  {key: "gain", title: "gain", hint: "Time that the best single device would have needed, by the time it took",
   value: (k) => k.gain > 0 ? k.gain : null,
   show: (k) => k.gain > 0 ? [lost(k) ? element("span", {class: "loss"}, "▼ lost ") : null, digits(k.gain) + " ×"] : "–"},
  {key: "alone_ns", title: "best device alone", value: (k) => k.gain > 0 ? k.alone_ns : null,
   show: (k) => k.gain > 0 ? time(k.alone_ns) : "–"},
  {key: "efficiency", title: "efficiency", hint: "Of split launches: the ideal by what they took",
   value: (k) => k.efficiency > 0 ? k.efficiency : null, show: (k) => k.efficiency > 0 ? score(k.efficiency) : "–"},
  {key: "moved_bytes", title: "moved", hint: "Bytes that moved for it", value: (k) => k.moved_bytes, show: (k) => bytes(k.moved_bytes)},
];
if (data.kernels.some((k) => k.joules > 0)) {
  kernelColumns.push({key: "joules", title: "energy", value: (k) => k.joules > 0 ? k.joules : null, show: (k) => joules(k.joules)});
}
readColors();
if (data.kernels.length) {
  const made = sortableTable(kernelColumns, data.kernels, {
    sorted: {key: "total_ns", down: true}, caption: "All kernels; each column sorts",
    row: (k) => ({"data-kernel": k.name, class: lost(k) ? "lost" : null})});
  $("kernel-table").append(made.table);
  $("kernel-tools").append(csvLink(data.source.replace(/\.json$/, "") + "-kernels.csv", kernelColumns, data.kernels));
  const losers = data.kernels.filter(lost);
  if (losers.length) {
    $("kernel-lost").hidden = false;
    $("kernel-lost").textContent = count(losers.length, "kernel") + (losers.length === 1 ? " was" : " were") +
        " slower than the best single device would have been: marked ▼.";
  }
}
data.kernels.forEach((kernel, i) => $("kernels").append(kernelSection(kernel, i)));
if (!data.kernels.length) $("kernels").append(element("p", {class: "quiet"}, "None was launched."));

