// ---- what is said of an event --------------------------------------------------------------------

function facts({row, at}) {
  const kind = kindOf(row, at), text = (which) => data.texts[field(row, at, which)];
  const list = [["when", moment(field(row, at, BEGIN)) + " after the begin, for " +
                             time(field(row, at, LENGTH))]];
  const launch = launchOf.get(field(row, at, COMMAND));
  if (kind === PACKAGE) {
    list.push(["slices", field(row, at, X) + " to " + (field(row, at, X) + field(row, at, Y) - 1) +
                             ", " + field(row, at, Y) + (launch ? " of " + launch.slices : "")]);
  }
  if (kind === TRANSFER || (kind === HOST && field(row, at, X) > 0)) {
    const ns = field(row, at, LENGTH);
    list.push(["bytes", bytes(field(row, at, X)) + (kind === TRANSFER ? " " + WAYS[wayOf(row, at)] : "") +
                            (ns > 0 ? ", " + digits(field(row, at, X) / ns) + " GB/s" : "")]);
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
        ([k, v]) => [element("dt", {}, k), element("dd", {}, v)])), waitsOf(field(which.row, which.at, COMMAND)) || "");
    const begin = field(which.row, which.at, BEGIN), end = endOf(which.row, which.at);
    const length = view.to - view.from;
    if (end < view.from || begin > view.to) show(begin - length / 3, begin + length * 2 / 3);
  }
  drawGraph(which ? field(which.row, which.at, COMMAND) : 0);
  redraw();
}

