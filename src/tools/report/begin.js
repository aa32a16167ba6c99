// ---- begin -------------------------------------------------------------------------------------

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColors(); redraw(); });
new ResizeObserver(redraw).observe($("timeline"));
showKernels();
draw();
drawGraph(0);
