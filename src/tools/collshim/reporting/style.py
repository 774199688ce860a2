"""The page's colours and layout, light, dark and printed, and what sorts its tables."""

STYLE = """
:root{--back:#fcfcfa;--text:#1d2329;--soft:#5a646e;--line:#d5d9dd;--head:#f0f1ef;
--compute:#b9c4cf;--p2p:#c9b458;--other:#9a8fb0;--wait:#d0752e;--move:#3b76b5;--unknown:#7d96ad}
@media screen and (prefers-color-scheme:dark){:root{--back:#15191d;--text:#e2e6ea;--soft:#9ba6b1;
--line:#343c44;--head:#1f252b;--compute:#48545f;--p2p:#a08a2c;--other:#75688f;--wait:#d9813f;
--move:#4f8fd0;--unknown:#5f7a92}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1100px;padding:24px;background:var(--back);color:var(--text);
font:15px/1.45 system-ui,sans-serif}
h1{font-size:24px;margin:0 0 8px}h2{font-size:18px;margin:32px 0 6px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 14px;margin:0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.verdict{font-size:18px;border-left:4px solid var(--move);padding:2px 12px;margin:16px 0}
.note{color:var(--soft);margin:0 0 8px}.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{padding:3px 8px;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{background:var(--head);white-space:nowrap}.sort th{cursor:pointer}
td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.grid{width:auto}.grid td{text-align:right;min-width:44px}td.on{color:#fff}
svg{width:100%;height:auto;display:block}svg svg{width:auto;height:auto}
svg text{font:12px system-ui,sans-serif;fill:var(--text)}
svg .on{fill:#fff;font-weight:600}svg .strong{font-weight:600}
.axis{stroke:var(--soft);stroke-width:1}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;margin:6px 0}
.legend i{display:inline-block;width:11px;height:11px;margin-right:5px}
.small{display:grid;grid-template-columns:repeat(auto-fill,minmax(320px,1fr));gap:12px}
@media print{body{max-width:none;padding:0;font-size:11px}section{break-inside:avoid-page}
h2{break-after:avoid}.wide{overflow:visible}*{print-color-adjust:exact;
-webkit-print-color-adjust:exact}}
"""

SCRIPT = """
document.querySelectorAll("table.sort th").forEach(function (head) {
  head.addEventListener("click", function () {
    var table = head.closest("table"), body = table.tBodies[0], at = head.cellIndex,
        up = head.dataset.up = head.dataset.up === "1" ? "0" : "1",
        by = function (row) {
          var text = row.cells[at].dataset.by;
          return text !== "" && !isNaN(text) ? Number(text) : text;
        };
    Array.from(body.rows).sort(function (a, b) {
      var x = by(a), y = by(b), order = x < y ? -1 : x > y ? 1 : 0;
      return up === "1" ? -order : order;
    }).forEach(function (row) { body.appendChild(row); });
  });
});
"""
