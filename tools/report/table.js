// ---- tables that can be sorted and saved --------------------------------------------------------

/// Quoted; what a spreadsheet would take for a formula is kept from being one.
function csvField(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return "" + value;
  const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
  return '"' + text.replaceAll('"', '""') + '"';
}
const csvOf = (columns, entries) =>
    [columns.map((c) => csvField(c.key)), ...entries.map((e) => columns.map((c) => csvField(c.value(e))))]
        .map((line) => line.join(",")).join("\r\n") + "\r\n";

/// A table whose columns sort it: {key, title, hint, value(entry), show(entry), words}. `value` is
/// what is sorted and saved; null comes last either way. `row` gets a row's attributes.
function sortableTable(columns, entries, {sorted, row, caption}) {
  const made = element("table", {class: "sortable"});
  if (caption) made.append(element("caption", {class: "hidden"}, caption));
  let order = {...sorted};
  const rows = new Map(entries.map((entry) => [entry, element("tr", row ? row(entry) : {},
      columns.map((c, i) => element(i === 0 ? "th" : "td", {
        scope: i === 0 ? "row" : null, class: c.words ? "words" : null, "data-key": "table." + c.key,
        "data-value": c.value(entry)}, c.show ? c.show(entry) : c.value(entry))))]));
  const body = element("tbody", {});
  const heads = columns.map((c) => element("th", {scope: "col", class: c.words ? "words" : null},
      element("button", {type: "button", class: "sort", title: c.hint || "Sort by this",
                         onclick: () => sortBy(c)}, c.title)));
  const compare = (a, b) => {
    if (a === b) return 0;
    if (a === null || a === undefined) return 2;
    if (b === null || b === undefined) return -2;
    return typeof a === "string" ? a.localeCompare(b) : a - b;
  };
  function draw() {
    const column = columns.find((c) => c.key === order.key);
    const list = entries.map((entry, i) => [entry, i]).sort(([a, i], [b, j]) => {
      const found = compare(column.value(a), column.value(b));
      return (Math.abs(found) === 2 ? found : order.down ? -found : found) || i - j;
    });
    body.replaceChildren(...list.map(([entry]) => rows.get(entry)));
    columns.forEach((c, i) => {
      if (c === column) heads[i].setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else heads[i].removeAttribute("aria-sort");
    });
  }
  function sortBy(column) {
    order = {key: column.key,
             down: order.key === column.key ? !order.down : !column.words};
    draw();
  }
  made.append(element("thead", {}, element("tr", {}, heads)), body);
  draw();
  return {table: made, rows};
}

/// A link that saves the table.
const csvLink = (name, columns, entries) => element("a", {
  class: "button", download: name, href: "data:text/csv;charset=utf-8," +
      encodeURIComponent(csvOf(columns, entries))}, "Save as CSV");

