// ---- begin -------------------------------------------------------------------------------------

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColors(); redraw(); });
new ResizeObserver(redraw).observe($("timeline"));
if (!rows.length) {
  for (const part of document.querySelectorAll("#timeline-title ~ *, #legend, #timeline, #timeline-hint")) part.hidden = true;
  $("no-events").hidden = false;
}
showKernels();
draw();
drawGraph(0);
