# SPDX-License-Identifier: Apache-2.0
"""The result for people: a table of text, and a plot as SVG."""

from xml.sax.saxutils import escape

from . import runs

COLOURS = ["#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#bbbbbb", "#222222",
           "#997700", "#44bb99"]


def number(value, text):
    return "-" if value is None else text.format(value)


def table(result):
    lines = []
    for device in result["devices"]:
        lines.append(f"device {device['index']}: {device['name']} ({device['platform']})")
    lines.append(f"Medians of {result['repeat']} rounds of {result['launches']} launches; speed-up "
                 f"over the best device and efficiency by the {result['time']} time.")
    lines += runs.busy(result["load_before"], result["cores"])
    width = max([len(entry["name"]) for kernel in result["kernels"]
                 for entry in kernel["configurations"]] + [8])
    for kernel in result["kernels"]:
        lines += ["", f"{kernel['kernel']} {kernel['size']}: at most "
                      f"{number(kernel['largest_speedup'], '{:.2f}')} times the best device, in "
                      f"{number(kernel['ideal_ms'], '{:.3f}')} ms",
                  f"  {'':{width}} {'total, ms':>11} {'kernel, ms':>11} {'speed-up':>9} "
                  f"{'efficiency':>10} {'packages':>8} {'balance':>8}"]
        for entry in kernel["configurations"]:
            if entry["status"] != "right":
                lines.append(f"  {entry['name']:{width}} {entry['status']}")
                continue
            lines.append(f"  {entry['name']:{width}} "
                         f"{number(entry['median_total_ms'], '{:.3f}'):>11} "
                         f"{number(entry['median_kernel_ms'], '{:.3f}'):>11} "
                         f"{number(entry['speedup'], '{:.2f}'):>9} "
                         f"{number(entry['efficiency'], '{:.3f}'):>10} "
                         f"{number(entry['packages'], '{:g}'):>8} "
                         f"{number(entry['balance'], '{:.3f}'):>8}")
    return "\n".join(lines) + "\n"


BAR = 12
HEIGHT = 260
LEFT, TOP, BOTTOM = 50, 30, 60


def plot(result):
    """Bars of speed-up over the best device, by kernel; a line at what the devices' speeds allow."""
    names = []
    for kernel in result["kernels"]:
        for entry in kernel["configurations"]:
            if entry["kind"] != "device" and entry["name"] not in names:
                names.append(entry["name"])
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    group = BAR * len(names) + 24
    values = [value for kernel in result["kernels"]
              for value in [kernel["largest_speedup"] or 0,
                            *[entry["speedup"] or 0 for entry in kernel["configurations"]]]]
    largest = max([1.0, *values]) * 1.05
    legend = 18 * len(names)
    width = LEFT + group * len(result["kernels"]) + 190
    height = TOP + max(HEIGHT, legend) + BOTTOM

    def y(value):
        return TOP + HEIGHT * (1 - value / largest)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="{LEFT}" y="18">speed-up over the best device '
             f'({escape(result["time"])} time); the line: what the speeds allow</text>']
    step = 0.5 if largest < 5 else 1 if largest < 10 else 5
    mark = 0.0
    while mark <= largest:
        end = LEFT + group * len(result["kernels"])
        parts.append(f'<line x1="{LEFT}" x2="{end}" y1="{y(mark):.1f}" y2="{y(mark):.1f}" '
                     f'stroke="{"#888888" if mark == 1 else "#dddddd"}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark:g}</text>')
        mark += step
    for place, kernel in enumerate(result["kernels"]):
        left = LEFT + group * place + 12
        for entry in kernel["configurations"]:
            if entry["kind"] == "device" or entry["speedup"] is None:
                continue
            x = left + BAR * names.index(entry["name"])
            top = y(entry["speedup"])
            parts.append(f'<rect class="bar" x="{x}" y="{top:.1f}" width="{BAR - 2}" '
                         f'height="{TOP + HEIGHT - top:.1f}" fill="{colour[entry["name"]]}">'
                         f'<title>{escape(kernel["kernel"])}, {escape(entry["name"])}: '
                         f'{entry["speedup"]:.2f}</title></rect>')
        if kernel["largest_speedup"]:
            line = y(kernel["largest_speedup"])
            parts.append(f'<line x1="{left - 4}" x2="{left + BAR * len(names) + 2}" '
                         f'y1="{line:.1f}" y2="{line:.1f}" stroke="black" stroke-width="1.5"/>')
        middle = left + BAR * len(names) / 2
        parts.append(f'<text x="{middle}" y="{TOP + HEIGHT + 16}" text-anchor="middle">'
                     f'{escape(kernel["kernel"])}</text>')
    right = LEFT + group * len(result["kernels"]) + 20
    for place, name in enumerate(names):
        top = TOP + 18 * place
        parts.append(f'<rect x="{right}" y="{top}" width="12" height="12" fill="{colour[name]}"/>')
        parts.append(f'<text x="{right + 18}" y="{top + 10}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
