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

let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  drag = {x: event.clientX, from: view.from, moved: false, measures: event.shiftKey, at: timeAt(event)};
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (drag) {
    const by = event.clientX - drag.x;
    if (Math.abs(by) > 3) drag.moved = true;
    if (drag.moved && drag.measures) {
      setRange({from: drag.at, to: timeAt(event)});
    } else if (drag.moved) {
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
canvas.addEventListener("pointercancel", () => {
  drag = null;
  canvas.classList.remove("dragging");
});
canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });
// The wheel alone scrolls what it always scrolls.
canvas.addEventListener("wheel", (event) => {
  const length = view.to - view.from;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.005), timeAt(event));
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    const by = (event.deltaX || event.deltaY) / canvas.clientWidth * length;
    show(view.from + by, view.to + by);
  } else {
    return;
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
    Escape: () => { choose(null); setRange(null); },
    m: () => measureChosen(event.shiftKey),
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

