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

// ---- energy ------------------------------------------------------------------------------------

const joules = (value) => value ? value.toPrecision(4) + " J" : "–";
const delay = (value) => value ? value.toPrecision(4) + " J s" : "–";

/// The watts that a sensor told, over the whole trace.
function powerChart(sensor, WIDTH) {
  const TALL = 110, LEFT = 60, BOTTOM = 24, TOP = 8;
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
        joules(sensor.busy_joules) + " of it while kernels ran"), chart((width) => powerChart(sensor, width)));
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

