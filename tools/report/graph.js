// ---- who waited for whom ---------------------------------------------------------------------------

const WAITS = ["named by the application", "its turn in the queue", "the same data"];
const WAIT_WORDS = ["event", "queue order", "data"];
// number → {number, queue, what, kernel, enqueued, begin, end, critical, waits: [{on, kind}], next: […]}
const commands = new Map();
for (let i = 0; i < data.commands.length; i += 8) {
  const [number, queue, what, kernel, enqueued, begin, end, critical] = data.commands.slice(i, i + 8);
  commands.set(number, {number, queue, what: data.texts[what], kernel: data.texts[kernel], enqueued,
                        begin, end, critical: critical === 1, waits: [], next: []});
}
for (let i = 0; i < data.waits.length; i += 3) {
  const [number, on, kind] = data.waits.slice(i, i + 3);
  const command = commands.get(number), before = commands.get(on);
  if (!command || !before) continue;
  command.waits.push({on, kind});
  before.next.push({on: number, kind});
}
const commandName = (c) => "#" + c.number + " " + (c.kernel || c.what);
/// The slices that a command's work is drawn as: the first one to begin, and the last one to end.
const workOf = new Map();
for (const row of rows) {
  for (let at = 0; at < row.count; ++at) {
    const number = field(row, at, COMMAND), kind = kindOf(row, at);
    if (!number || kind === API || kind === DECISION) continue;
    const known = workOf.get(number);
    if (!known) { workOf.set(number, {first: {row, at}, last: {row, at}}); continue; }
    if (field(row, at, BEGIN) < field(known.first.row, known.first.at, BEGIN)) known.first = {row, at};
    if (endOf(row, at) > endOf(known.last.row, known.last.at)) known.last = {row, at};
  }
}

/// From the ends of what it waited for to its begin, and from its end to the begins of what waited
/// for it: [row, time, row, time, kind].
function waitArrows(number) {
  const command = commands.get(number), arrows = [];
  if (!command) return arrows;
  const arrow = (from, to, kind) => {
    const a = workOf.get(from), b = workOf.get(to);
    if (!a || !b) return;
    arrows.push([a.last.row.number, endOf(a.last.row, a.last.at),
                 b.first.row.number, field(b.first.row, b.first.at, BEGIN), kind]);
  };
  for (const {on, kind} of command.waits) arrow(on, number, kind);
  for (const {on, kind} of command.next) arrow(number, on, kind);
  return arrows;
}
function chooseCommand(number) {
  const work = workOf.get(number);
  if (work) return choose(work.first);
  $("details").replaceChildren(element("h3", {}, commandName(commands.get(number))), waitsOf(number));
  drawGraph(number);
}

/// What a command waited for and what for it, as buttons that lead there.
function waitsOf(number) {
  const command = commands.get(number);
  if (!command) return null;
  const list = (waits) => waits.length ? waits.slice(0, 40).map(({on, kind}) =>
      element("button", {type: "button", class: "command", title: WAITS[kind],
                         onclick: () => chooseCommand(on)},
              commandName(commands.get(on)) + " (" + WAIT_WORDS[kind] + ")")).concat(
      waits.length > 40 ? " and " + (waits.length - 40) + " more" : []) : "nothing";
  const held = command.end ? Math.max(0, command.begin - command.enqueued) : 0;
  return element("dl", {class: "waits"},
      element("dt", {}, "enqueued"), element("dd", {}, moment(command.enqueued) + (command.queue
          ? ", queue " + command.queue : "") + (command.end ? "; began " + time(held) + " later" : "")),
      element("dt", {}, "waited for"), element("dd", {"data-key": "waited_for"}, list(command.waits)),
      element("dt", {}, "then came"), element("dd", {"data-key": "waited_by"}, list(command.next)));
}

// The graph: from left to right what could run one after the other, a line for each queue.
const GRAPH_MOST = 48;  // commands at a time
let graphFrom = 0, graphChosen = 0;
const numbers = [...commands.keys()];

/// Columns: one more than the last of those it waited for, and than the one before in its line.
function layOut(list) {
  const columns = new Map(), inLine = new Map();
  const lines = [...new Set(list.map((c) => c.queue))].sort((a, b) => a - b);
  for (const command of list) {
    const before = command.waits.map((w) => columns.get(w.on)).filter((c) => c !== undefined);
    const used = inLine.has(command.queue) ? inLine.get(command.queue) + 1 : 0;
    const column = Math.max(used, ...before.map((c) => c + 1));
    columns.set(command.number, column);
    inLine.set(command.queue, column);
  }
  return {columns, lines};
}

function drawGraph(number) {
  if (!numbers.length) return;
  if (number && commands.has(number)) {
    const place = numbers.indexOf(number);
    if (place < graphFrom || place >= graphFrom + GRAPH_MOST) {
      graphFrom = Math.max(0, place - Math.floor(GRAPH_MOST / 2));
    }
  }
  graphChosen = number || 0;
  const list = numbers.slice(graphFrom, graphFrom + GRAPH_MOST).map((n) => commands.get(n));
  const {columns, lines} = layOut(list);
  const BOX = 128, HIGH = 34, WIDE = BOX + 44, LINE_HIGH = 66, LEFT = 74, TOP = 12;
  const width = LEFT + (Math.max(...columns.values()) + 1) * WIDE, tall = TOP + lines.length * LINE_HIGH;
  const x = (c) => LEFT + columns.get(c.number) * WIDE;
  const y = (c) => TOP + lines.indexOf(c.queue) * LINE_HIGH + 10;
  const svg = element("svg", {viewBox: `0 0 ${width} ${tall}`, width, height: tall, role: "group",
      "aria-label": "Commands " + list[0].number + " to " + list[list.length - 1].number +
      ", and who waited for whom"});
  lines.forEach((queue, i) => svg.append(element("text", {x: 4, y: TOP + i * LINE_HIGH + 31},
                                                 queue ? "queue " + queue : "events")));
  for (const command of list) {
    for (const {on, kind} of command.waits) {
      const before = commands.get(on);
      if (!columns.has(on)) continue;
      const x0 = x(before) + BOX, y0 = y(before) + HIGH / 2, x1 = x(command) - 2, y1 = y(command) + HIGH / 2;
      // Over others in its own line it goes above them.
      const far = before.queue === command.queue && columns.get(command.number) > columns.get(on) + 1;
      const path = far ? `M${x0} ${y0 - 8}C${x0 + 20} ${y0 - 34} ${x1 - 20} ${y0 - 34} ${x1} ${y1 - 8}`
                       : `M${x0} ${y0}C${x0 + 22} ${y0} ${x1 - 22} ${y1} ${x1} ${y1}`;
      const mine = graphChosen === command.number || graphChosen === on;
      svg.append(element("path", {d: path, class: "wait k" + kind + (mine ? " mine" : "") +
                                  (command.critical && before.critical ? " critical" : ""),
                                  "data-from": on, "data-to": command.number},
                         element("title", {}, commandName(command) + " waited for " + commandName(before) +
                                 ": " + WAITS[kind])),
                 element("path", {d: `M${x1 + 2} ${far ? y1 - 8 : y1}l-7 -4v8z`, class: "head k" + kind}));
    }
  }
  for (const command of list) {
    const words = commandName(command), went = command.end > 0;
    const box = element("g", {class: "node" + (command.critical ? " critical" : "") +
        (graphChosen === command.number ? " chosen" : ""), tabindex: 0, role: "button",
        "data-command": command.number, "aria-label": words + (went ? ", " + time(command.end - command.begin) : ""),
        onclick: () => chooseCommand(command.number),
        onkeydown: (event) => {
          if (event.key === "Enter" || event.key === " ") { event.preventDefault(); chooseCommand(command.number); }
        }},
        element("title", {}, words + (went ? "\n" + moment(command.begin) + ", for " + time(command.end - command.begin) : "")),
        element("rect", {x: x(command), y: y(command), width: BOX, height: HIGH, rx: 7}),
        element("text", {x: x(command) + 8, y: y(command) + 14}, words.length > 18 ? words.slice(0, 17) + "…" : words),
        element("text", {x: x(command) + 8, y: y(command) + 28, class: "small"},
                went ? time(command.end - command.begin) : command.kernel ? "did not end" : command.what));
    svg.append(box);
  }
  const focused = $("graph").contains(document.activeElement);
  $("graph").replaceChildren(svg);
  const picked = svg.querySelector(".node.chosen");
  if (focused && picked) picked.focus();
  // Only the graph scrolls, not the page.
  if (picked) $("graph").scrollLeft = x(commands.get(graphChosen)) - $("graph").clientWidth / 2 + BOX / 2;
  $("graph-where").textContent = "Commands " + list[0].number + " to " + list[list.length - 1].number +
      " of " + numbers.length;
  $("graph-before").disabled = graphFrom === 0;
  $("graph-next").disabled = graphFrom + GRAPH_MOST >= numbers.length;
}
const turnGraph = (by) => {
  graphFrom = Math.max(0, Math.min(Math.max(0, numbers.length - GRAPH_MOST), graphFrom + by));
  drawGraph(0);
  $("graph").scrollLeft = 0;
};
$("graph-before").onclick = () => turnGraph(-GRAPH_MOST);
$("graph-next").onclick = () => turnGraph(GRAPH_MOST);
if (!numbers.length) {
  $("graph-hint").hidden = true;
  $("graph-section").querySelector(".tools").hidden = true;
  $("graph").append(element("p", {class: "quiet"}, "The trace does not tell."));
}
if (data.omitted_commands) {
  $("graph-hint").append(" The first " + numbers.length + " commands; " + data.omitted_commands + " more are left out.");
}

