// ---- devices -----------------------------------------------------------------------------------

function shareBar(parts) {  // [device, share]
  return element("div", {class: "share", role: "img",
      "aria-label": parts.map(([d, s]) => deviceName(d) + " " + percent(s)).join(", ")},
      parts.filter(([, share]) => share > 0).map(([device, share]) => element("div", {
        style: `width:${100 * share}%;background:${deviceColor(device)}`,
        title: deviceName(device) + ": " + percent(share)}, element("span", {}, percent(share)))));
}
const named = (index) => [element("i", {class: "dot", style: "background:" + deviceColor(index)}),
                          deviceName(index)];
$("no-devices").hidden = data.devices.length > 0;
$("shares").hidden = $("devices").hidden = data.devices.length === 0;
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

/// A value over the whole trace. `points`: time, value, time, value …, each value until the next
/// time; `words` says what the picture shows, `shown` a value; `marks`: times.
function stepChart(WIDTH, {points, device, words, shown, marks}) {
  const TALL = 110, LEFT = 70, BOTTOM = 24, TOP = 8;
  const most = points.reduce((high, value, i) => i % 2 ? Math.max(high, value) : high, 1e-9);
  const x = (t) => LEFT + t / Math.max(1, data.duration) * (WIDTH - LEFT - 8);
  const y = (value) => TOP + (1 - value / most) * (TALL - TOP - BOTTOM);
  let path = "";
  for (let i = 0; i + 3 < points.length; i += 2) {
    path += `${path ? "L" : "M"}${x(points[i])} ${y(points[i + 1])}L${x(points[i + 2])} ${y(points[i + 1])}`;
  }
  const svg = element("svg", {viewBox: `0 0 ${WIDTH} ${TALL}`, role: "img",
      "aria-label": words + ", at most " + shown(most)});
  svg.append(element("line", {x1: LEFT, x2: WIDTH - 8, y1: y(0), y2: y(0), stroke: "var(--line)"}),
             ...(marks || []).map((t) => element("line", {class: "mark", x1: x(t), x2: x(t), y1: y(0),
                 y2: y(0) + 7, stroke: "var(--loss)", "stroke-width": 2})),
             element("path", {d: path, fill: "none", stroke: deviceColor(device), "stroke-width": 2}),
             element("text", {x: 6, y: y(most) + 6}, shown(most)),
             element("text", {x: 6, y: y(0)}, shown(0)),
             element("text", {x: LEFT, y: TALL - 7}, "0"),
             element("text", {x: WIDTH - 8, y: TALL - 7, "text-anchor": "end"}, time(data.duration)));
  return svg;
}

// ---- memory ------------------------------------------------------------------------------------

for (const {index, memory} of data.devices.filter((d) => d.memory)) {
  const words = ["at most " + bytes(memory.peak)];
  if (memory.evictions) {
    words.push(count(memory.evictions, "eviction") + " (marked), " + bytes(memory.evicted_bytes));
  }
  if (memory.shard_changes) {
    words.push(count(memory.shard_changes, "shard") + " made or changed, " +
               bytes(memory.shard_bytes));
  }
  $("memory").append(element("div", {class: "memory", "data-device": index},
      element("h4", {}, "Memory that buffers had on ", named(index)),
      element("p", {class: "quiet", "data-key": "memory_peak", "data-value": memory.peak},
              words.join("; ")),
      memory.bytes.length ? chart((width) => stepChart(width, {points: memory.bytes, device: index,
          words: deviceName(index) + ", memory of buffers over time", shown: bytes,
          marks: memory.eviction_times})) : null));
}

// ---- energy ------------------------------------------------------------------------------------

const joules = (value) => value ? value.toPrecision(4) + " J" : "–";
const delay = (value) => value ? value.toPrecision(4) + " J s" : "–";

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
        joules(sensor.busy_joules) + " of it while kernels ran"), chart((width) => stepChart(width,
            {points: sensor.power, device: sensor.devices[0], words: sensor.name + ", power over time",
             shown: (watts) => (watts ? watts.toPrecision(3) : "0") + " W"})));
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

// ---- the application ---------------------------------------------------------------------------

$("application").append(data.asked.length
    ? element("table", {}, ...table(["what", "commands", "bytes", "time"], data.asked.map((a) =>
          element("tr", {}, element("td", {}, a.what), cell("commands", a.commands, "" + a.commands),
                  cell("asked_bytes", a.bytes, bytes(a.bytes)), cell("asked_ns", a.ns, time(a.ns))))))
    : element("p", {class: "quiet"}, "None."));
if (data.moved.length) {
  $("application").append(element("h4", {}, "Moved between host and devices for them"), movedTable(data.moved));
}

