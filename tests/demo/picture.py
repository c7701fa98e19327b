"""Draws a run of the demo: as SVG, for the README, and as one page that needs nothing else.

A record is {"rows": [...], "events": [...]}: each row is a second with what was offered, admitted and the limit
(requests), the discard probability, and what was admitted through each sidecar; each event has its second and
what happened. Colours follow the reader's choice of light or dark.
"""

import json
from html import escape
from xml.sax.saxutils import escape as escape_text

WIDTH = 880
LEFT, RIGHT = 64, 128  # beside the panels: numbers of the axis, names of the lines
TOP = 50
# (title, height) of the three panels, and the room between them.
PANELS = [("noisy bucket, requests a second", 190), ("discard probability", 84), ("admitted through a, b and c", 144)]
GAP = 46
HEIGHT = TOP + sum(height for _, height in PANELS) + GAP * (len(PANELS) - 1) + 48
NAMES = "abc"

STYLE = """
.demo{--paper:#ffffff;--ink:#1c2430;--soft:#5b6775;--grid:#e4e9ef;--frame:#c3ccd6;--offered:#97a3b0;
--admitted:#0f6ab4;--area:#0f6ab41f;--limit:#c2410c;--chance:#1c2430;--a:#0b6a76;--b:#56a7b0;--c:#bcdde0;--on-a:#ffffff;
--on-b:#06252a;--on-c:#12343a}
@media (prefers-color-scheme:dark){.demo{--paper:#161b22;--ink:#e6edf3;--soft:#9aa7b4;--grid:#2a323c;--frame:#39434f;
--offered:#77828e;--admitted:#58a6ff;--area:#58a6ff2b;--limit:#ff9d5c;--chance:#e6edf3;--a:#2ba3b1;--b:#1f7682;
--c:#164e57;--on-a:#06252a;--on-b:#eefafb;--on-c:#d7f0f3}}
.demo text{font-family:system-ui,-apple-system,"Segoe UI","DejaVu Sans",Helvetica,Arial,sans-serif;font-size:13px;
fill:var(--soft)}
.demo .title{font-size:19px;font-weight:650;fill:var(--ink)}
.demo .panel{font-weight:600;fill:var(--ink)}
.demo .inside{font-size:11.5px;font-weight:600}
.demo .line{fill:none;stroke-width:1.8;stroke-linejoin:round}
""".strip()


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


class Plot:
    def __init__(self, record):
        self.rows, self.events = record["rows"], record["events"]
        self.end = self.rows[-1]["second"]
        self.parts = []

    def x(self, second):
        return LEFT + (WIDTH - LEFT - RIGHT) * second / self.end

    def text(self, x, y, text, anchor="start", kind="", colour=""):
        more = f' class="{kind}"' if kind else ""
        more += f' style="fill:var(--{colour})"' if colour else ""
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"{more}>{escape_text(text)}</text>')

    def path(self, points, colour, dashes="", width=""):
        drawn = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
        more = (f' stroke-dasharray="{dashes}"' if dashes else "") + (f' stroke-width="{width}"' if width else "")
        self.parts.append(f'<path class="line" d="{drawn}" style="stroke:var(--{colour})"{more}/>')

    def area(self, above, below, colour):
        drawn = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in [*above, *reversed(below)]) + "Z"
        self.parts.append(f'<path d="{drawn}" style="fill:var(--{colour})"/>')

    def scale(self, top, height, most, ticks, unit=""):
        """The lines and numbers of a panel's axis; gives the function from a value to its place."""
        def y(value):
            return top + height * (1 - value / most)
        for tick in ticks:
            self.parts.append(f'<path d="M{LEFT} {number(y(tick))}H{WIDTH - RIGHT}" style="stroke:var(--grid)"/>')
            self.text(LEFT - 8, y(tick) + 4.5, f"{tick:g}{unit}", "end")
        return y

    def points(self, y, value):
        """A value of each second, in the middle of it."""
        return [(self.x(row["second"] - 0.5), y(value(row))) for row in self.rows]

    def steps(self, y, value):
        return [(self.x(second), y(value(row))) for row in self.rows for second in (row["second"] - 1, row["second"])]

    def requests(self, top, height):
        most = 500 * (max(row["offered"] for row in self.rows) // 500 + 1)
        y = self.scale(top, height, most, range(0, most + 1, 500))
        admitted = self.points(y, lambda row: row["admitted"])
        self.area(admitted, [(admitted[0][0], y(0)), (admitted[-1][0], y(0))], "area")
        self.path(self.points(y, lambda row: row["offered"]), "offered")
        self.path(admitted, "admitted", width="2.2")
        self.path(self.steps(y, lambda row: row["limit"]), "limit", "6 4")
        self.name(sum(row["offered"] for row in self.rows[-10:]) / 10, "offered", "soft", y)
        last = self.rows[-1]["limit"]
        self.text(WIDTH - RIGHT + 12, y(last) - 4, f"limit {last}", colour="limit")
        self.text(WIDTH - RIGHT + 12, y(last) + 16, "admitted", colour="admitted")

    def name(self, value, text, colour, y):
        self.text(WIDTH - RIGHT + 12, y(value) + 4.5, text, colour=colour)

    def chance(self, top, height):
        y = self.scale(top, height, 1, (0, 0.5, 1))
        self.path(self.points(y, lambda row: row["discard_probability"]), "chance")
        self.text(WIDTH - RIGHT + 12, y(self.rows[-1]["discard_probability"]) - 3, "as the")
        self.text(WIDTH - RIGHT + 12, y(self.rows[-1]["discard_probability"]) + 13, "sidecars see it")

    def shares(self, top, height):
        y = self.scale(top, height, 100, (0, 50, 100), " %")
        below = [(x, y(0)) for x, _ in self.points(y, lambda row: 0)]
        for index, name in enumerate(NAMES):
            above = self.points(y, lambda row: 100 * sum(row["through"][:index + 1]) / max(1, sum(row["through"])))
            self.area(above, below, name)
            share = 100 * self.rows[9]["through"][index] / max(1, sum(self.rows[9]["through"]))
            self.text(LEFT + 14, (above[9][1] + below[9][1]) / 2 + 4, f"{name}: {share:.0f} %", kind="inside",
                      colour=f"on-{name}")
            below = above
        after = self.rows[-1]["through"]
        upto = 0
        for name, part in zip(NAMES, after):
            if part:
                self.name(100 * (upto + part / 2) / sum(after), f"{name}: {100 * part / sum(after):.0f} %", "soft", y)
            upto += part

    def marks(self, bottom):
        for event in self.events:
            x = self.x(event["second"])
            self.parts.append(f'<path d="M{number(x)} {TOP - 20}V{bottom}" style="stroke:var(--ink)" stroke-width="1.2" '
                              'stroke-dasharray="2 3"/>')
            self.text(x + 7, TOP - 9, event["what"], colour="ink")

    def svg(self):
        begin, end = self.rows[0], self.rows[-1]
        words = (f"Three sidecars share one limit. Offered {begin['offered']} requests a second; admitted follows the "
                 f"limit of {begin['limit']}, then {end['limit']}, also after one sidecar was killed.")
        top = TOP
        for (title, height), draw in zip(PANELS, (self.requests, self.chance, self.shares)):
            self.text(LEFT, top - 9, title, kind="panel")
            draw(top, height)
            top += height + GAP
        bottom = top - GAP
        for second in range(0, self.end + 1, 20):
            self.text(self.x(second), bottom + 20, f"{second} s", "middle")
        self.marks(bottom)
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" class="demo" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" role="img" aria-label="{escape(words)}">',
            f"<title>{escape_text(words)}</title>", f"<style>{STYLE}</style>",
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="10" '
            'style="fill:var(--paper);stroke:var(--frame)"/>', *self.parts, "</svg>"]) + "\n"


def svg(record):
    return Plot(record).svg()


PAGE_STYLE = """
:root{color-scheme:light dark}
body{margin:0;font:16px/1.55 system-ui,-apple-system,"Segoe UI","DejaVu Sans",Helvetica,Arial,sans-serif;
background:#f4f6f8;color:#1c2430}
main{max-width:880px;margin:0 auto;padding:32px 20px 56px}
h1{font-size:28px;line-height:1.2;margin:0 0 8px}
p{max-width:68ch;margin:0 0 20px}
figure{margin:0;position:relative}
figure svg{display:block;width:100%;height:auto}
#cursor{stroke:currentColor;stroke-width:1;opacity:.55;visibility:hidden}
#told{min-height:3.1em;margin:10px 2px 26px;font-variant-numeric:tabular-nums}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}
th,td{text-align:right;padding:5px 10px;border-bottom:1px solid #dde3ea;font-weight:400}
th{font-weight:600}
th:first-child,td:first-child{text-align:left}
details{margin-top:28px}
summary{cursor:pointer;font-weight:600;margin-bottom:8px}
@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}th,td{border-color:#2a323c}}
""".strip()

# The values of the second under the pointer, below the plot.
SCRIPT = """
const rows = JSON.parse(document.getElementById("rows").textContent);
const svg = document.querySelector("svg"), told = document.getElementById("told"), resting = told.textContent;
const cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
cursor.id = "cursor";
svg.append(cursor);
const show = (second) => {
    const row = rows[second - 1], x = LEFT + INNER * (second - 0.5) / rows.length;
    cursor.setAttribute("d", `M${x} ${TOP}V${BOTTOM}`);
    cursor.style.visibility = "visible";
    const all = row.through.reduce((sum, one) => sum + one, 0) || 1;
    const shares = row.through.map((one, i) => `${"abc"[i]} ${Math.round(100 * one / all)} %`).join(", ");
    told.textContent = `${second} s: ${row.offered} offered, ${row.admitted} admitted, limit ${row.limit}, ` +
        `discard probability ${row.discard_probability.toFixed(3)}; ${shares}; ` +
        `quiet bucket ${row.quiet_sent} sent, ${row.quiet_refused} refused`;
};
svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) * WIDTH / box.width - LEFT) / INNER;
    show(Math.min(rows.length, Math.max(1, Math.ceil(at * rows.length))));
});
svg.addEventListener("pointerleave", () => { cursor.style.visibility = "hidden"; told.textContent = resting; });
""".strip()


def cells(kind, values):
    return "<tr>" + "".join(f"<{kind}>{escape(str(value))}</{kind}>" for value in values) + "</tr>"


def windows(record):
    """(name, rows) of what lies between the events, without the five seconds after each."""
    borders = [0, *(event["second"] for event in record["events"]), len(record["rows"])]
    names = ["from the start", *(f"after: {event['what']}" for event in record["events"])]
    for name, begin, end in zip(names, borders, borders[1:]):
        yield name, record["rows"][begin + 5:end]


def summary(record):
    head = cells("th", ["", "offered", "admitted", "limit", "admitted / limit"])
    body = []
    for name, rows in windows(record):
        offered, admitted = (sum(row[key] for row in rows) / len(rows) for key in ("offered", "admitted"))
        limit = rows[0]["limit"]
        body.append(cells("td", [name, f"{offered:.0f}", f"{admitted:.1f}", limit, f"{admitted / limit:.3f}"]))
    return f"<table>{head}{''.join(body)}</table>"


def all_seconds(record):
    head = cells("th", ["second", "offered", "admitted", "limit", "discard p", "a", "b", "c", "quiet", "refused"])
    body = [cells("td", [row["second"], row["offered"], row["admitted"], row["limit"],
                         f"{row['discard_probability']:.3f}", *row["through"], row["quiet_sent"], row["quiet_refused"]])
            for row in record["rows"]]
    return f"<table>{head}{''.join(body)}</table>"


def page(record):
    """One page of HTML that loads nothing."""
    rows = record["rows"]
    quiet = sum(row["quiet_sent"] for row in rows), sum(row["quiet_refused"] for row in rows)
    script = SCRIPT
    for name, value in {"LEFT": LEFT, "INNER": WIDTH - LEFT - RIGHT, "WIDTH": WIDTH, "TOP": TOP,
                        "BOTTOM": HEIGHT - 48}.items():
        script = script.replace(name, str(value))
    data = json.dumps(rows).replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>weir: three sidecars, one limit</title>
<style>{PAGE_STYLE}</style></head>
<body><main>
<h1>Three sidecars, one limit</h1>
<p>Three weir sidecars share a tree of limits and tell each other by gossip what they admitted. A noisy bucket is
offered three times its limit, unevenly spread; a quiet bucket beside it sends {quiet[0]} requests in all, of which
{quiet[1]} were refused.</p>
<figure>{svg(record)}</figure>
<p id="told">Point at the plot to read a second.</p>
{summary(record)}
<details><summary>Each second</summary>{all_seconds(record)}</details>
<script type="application/json" id="rows">{data}</script>
<script>{script}</script>
</main></body>
</html>
"""
