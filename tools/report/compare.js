// ---- two runs side by side --------------------------------------------------------------------------

const seconds = (s) => s === null || s === undefined ? "–" : time(s * 1e9);
const ratioText = (r) => r === null ? "–" : digits(r) + " ×";
document.title = "Tutti report: " + data.a.source + " and " + data.b.source;
$("runs").replaceChildren(...["a", "b"].flatMap((k) => [element("b", {}, k.toUpperCase()), ": " +
    data[k].source + (data[k].program ? ", " + data[k].program : "") +
    (data[k].seconds === null ? "" : ", " + seconds(data[k].seconds) + " traced"), element("br")]));
const warnings = ["a", "b"].flatMap((k) => [
  data[k].complete ? null : "The trace of " + k.toUpperCase() + " breaks off.",
  data[k].lost ? count(data[k].lost, "event") + " of " + k.toUpperCase() + " are lost." : null]).filter(Boolean);
if (warnings.length) { $("broken").hidden = false; $("broken").textContent = warnings.join(" "); }
for (const [value, words, key] of [
  [seconds(data.a_seconds), "A: kernels that are in both", "a_seconds"],
  [seconds(data.b_seconds), "B: the same kernels", "b_seconds"],
  [ratioText(data.ratio), "B by A", "ratio"],
  ["" + data.kernels.filter((k) => k.verdict === "slower").length, "kernels slower in B", "slower"],
  ["" + data.kernels.filter((k) => k.verdict === "faster").length, "kernels faster in B", "faster"],
]) $("cards").append(element("div", {class: "card", "data-key": key}, element("b", {}, value), element("span", {}, words)));

const of = (kernel, run, key) => kernel[run] === null ? null : kernel[run][key];
const compared = (run, key, title, show, hint) => ({key: run + "_" + key, title, hint,
    value: (k) => of(k, run, key), show: (k) => of(k, run, key) === null ? "–" : show(of(k, run, key))});
const columns = [
  {key: "kernel", title: "kernel", words: true, value: (k) => k.name, show: (k) => element("code", {}, k.name)},
  compared("a", "seconds", "A", seconds, "Time of all launches in A"),
  compared("b", "seconds", "B", seconds, "Time of all launches in B"),
  {key: "ratio", title: "B/A", value: (k) => k.ratio, show: (k) => ratioText(k.ratio)},
  compared("a", "each_seconds", "A, each", seconds, "Time of one launch in A"),
  compared("b", "each_seconds", "B, each", seconds, "Time of one launch in B"),
  {key: "each_ratio", title: "each, B/A", value: (k) => k.each_ratio, show: (k) => k.each_ratio === null ? "–" : [
    k.verdict === "slower" ? element("span", {class: "loss"}, "▼ slower ") : k.verdict === "faster" ? "▲ faster " : null,
    ratioText(k.each_ratio)]},
  compared("a", "launches", "A launches", (n) => "" + n),
  compared("b", "launches", "B launches", (n) => "" + n),
  compared("a", "split", "A split", (n) => "" + n),
  compared("b", "split", "B split", (n) => "" + n),
  compared("a", "gain", "A split gain", ratioText, "Of split launches, against the best single device"),
  compared("b", "gain", "B split gain", ratioText, "Of split launches, against the best single device"),
];
const made = sortableTable(columns, data.kernels, {caption: "Kernels of both runs; each column sorts",
  sorted: {key: "b_seconds", down: true},
  row: (k) => ({"data-kernel": k.name, class: k.verdict === "slower" ? "lost" : null})});
$("kernel-table").append(data.kernels.length ? made.table : element("p", {class: "quiet"}, "None was launched."));
if (data.kernels.length) $("kernel-tools").append(csvLink("comparison.csv", columns, data.kernels));
$("search").addEventListener("input", (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  let shown = 0;
  for (const [kernel, row] of made.rows) {
    row.hidden = !kernel.name.toLowerCase().includes(wanted);
    if (!row.hidden) ++shown;
  }
  $("found").textContent = wanted ? count(shown, "kernel") : "";
});
