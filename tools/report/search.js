// ---- search ------------------------------------------------------------------------------------

// What is looked for in names of kernels, devices and arguments, in reasons, and, as #number, among
// commands. What does not match is drawn pale.
let searched = null;  // {texts: set of texts' numbers, devices: set, command, list, at}

function matches(row, at) {
  if (!searched) return true;
  if (searched.command !== null) return field(row, at, COMMAND) === searched.command;
  const kind = kindOf(row, at);
  return searched.texts.has(field(row, at, NAME)) || searched.texts.has(field(row, at, WHY)) ||
      searched.texts.has(field(row, at, ARGUMENT)) || searched.texts.has(field(row, at, KERNEL_NAME)) ||
      ([PACKAGE, KERNEL, TRANSFER].includes(kind) && searched.devices.has(field(row, at, DEVICE)));
}

function search(text) {
  const wanted = text.trim().toLowerCase();
  const fits = (name) => name.toLowerCase().includes(wanted);
  searched = null;
  if (wanted) {
    const number = /^#?(\d+)$/.exec(wanted);
    const command = number && wanted.startsWith("#") ? +number[1] : null;
    searched = {command, texts: new Set(), devices: new Set(), list: [], at: -1};
    data.texts.forEach((name, i) => { if (name && fits(name)) searched.texts.add(i); });
    for (const d of data.devices) {
      if (fits(d.index + " " + d.name + " " + d.platform)) searched.devices.add(d.index);
    }
    for (const row of rows) {
      for (let at = 0; at < row.count; ++at) if (matches(row, at)) searched.list.push({row, at});
    }
    searched.list.sort((a, b) => field(a.row, a.at, BEGIN) - field(b.row, b.at, BEGIN));
  }
  // Tables and sections show what fits; a command's kernel does.
  const launch = searched && searched.command !== null ? launchOf.get(searched.command) : null;
  const kernelFits = (name) => !searched || (searched.command !== null
      ? launch !== undefined && launch !== null && launch.kernel.name === name : fits(name));
  const anyKernel = data.kernels.some((k) => kernelFits(k.name));
  let shown = 0;
  for (const node of document.querySelectorAll("[data-kernel]")) {
    const keep = !searched || !anyKernel || kernelFits(node.dataset.kernel);
    node.hidden = !keep;
    if (keep && searched && anyKernel && node.tagName === "TR") ++shown;
  }
  for (const node of document.querySelectorAll("#devices [data-device]")) {
    node.hidden = searched !== null && searched.devices.size > 0 && !searched.devices.has(+node.dataset.device);
  }
  $("found").textContent = !searched ? "" : count(searched.list.length, "event") + ", " +
      count(shown, "kernel") + ", " + count(searched.devices.size, "device");
  redraw();
}

function searchStep(by) {
  if (!searched || !searched.list.length) return;
  const all = searched.list.length;
  searched.at = searched.at < 0 ? (by > 0 ? 0 : all - 1) : (searched.at + by + all) % all;
  choose(searched.list[searched.at]);
  $("found").textContent = (searched.at + 1) + " of " + count(all, "event");
}

$("search").addEventListener("input", (event) => search(event.target.value));
$("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") { event.preventDefault(); searchStep(event.shiftKey ? -1 : 1); }
  if (event.key === "Escape" && event.target.value) { event.target.value = ""; search(""); }
});
$("search-next").onclick = () => searchStep(1);
$("search-before").onclick = () => searchStep(-1);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey ||
      /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  event.preventDefault();
  $("search").focus();
});

