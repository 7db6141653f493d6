#!/usr/bin/env python3
"""Opens a page of a profile in headless Chromium, looks at every view, and keeps pictures.

  check_page.py PAGE.html [FOLDER_FOR_PICTURES]

It needs the program `chromium`, and no network: the browser resolves no names. A copy of the page gets a script that opens each
view, times 60 frames of the timeline, presses keys, and writes what it finds into the document, which Chromium prints. The pictures
of every second view are dark.
"""
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PROBE = """<script>
const problems = [];
addEventListener('error', e => problems.push(String(e.message)));
addEventListener('unhandledrejection', e => problems.push(String(e.reason)));
addEventListener('load', () => {
  const found = {ready: performance.now(), views: {}, frames: []};
  for (const v of views) {
    try { open_view(v.name); } catch (e) { problems.push(v.name + ': ' + e.stack); }
    found.views[v.name] = {text: v.section.innerText.length, rows: v.section.querySelectorAll('tbody tr').length,
                           shapes: v.section.querySelectorAll('rect, circle').length,
                           foreign: v.section.querySelectorAll('img, b b, script').length};
  }
  open_view('Timeline');
  for (let i = 0; i < 60; ++i) {
    zoom_to(data.length * 0.4 * (i / 60), data.length * (1 - 0.55 * (i / 60)));
    const begin = performance.now();
    draw_timeline();
    view.canvas.getContext('2d').getImageData(0, 0, 1, 1);
    found.frames.push(performance.now() - begin);
  }
  search('dot');
  next_found();
  found.chosen = document.getElementById('detail').innerText;
  const press = key => dispatchEvent.call(document.body, new KeyboardEvent('keydown', {key, bubbles: true}));
  const expect = (what, holds) => holds || problems.push(what);
  press('0');
  expect('0 shows the whole', view.from === 0 && view.to === Math.max(data.length, 10));
  press('w');
  expect('w zooms', view.to - view.from < data.length);
  const from = view.from;
  press('d');
  expect('d moves', view.from > from);
  press('f');
  expect('f shows the chosen record', view.from < view.chosen.begin && view.to > view.chosen.end);
  press('m');
  expect('m measures', view.measured[1] - view.measured[0] === view.chosen.end - view.chosen.begin);
  press('/');
  expect('/ searches', document.activeElement.id === 'search');
  document.activeElement.blur();
  press('Escape');
  expect('Escape forgets', !view.measured && !view.chosen);
  press('4');
  expect('4 opens the ops', current.name === 'Ops');
  const order = [...document.querySelectorAll('#ops tbody tr')].map(r => r.cells[4].innerText);
  document.querySelectorAll('#ops th')[4].click();
  const sorted = [...document.querySelectorAll('#ops tbody tr')].map(r => Number(r.cells[4].innerText));
  expect('a click sorts', sorted.every((n, i) => !i || sorted[i - 1] >= n) && sorted.length === order.length);
  recolour(true);
  expect('dark', getComputedStyle(document.body).backgroundColor === 'rgb(20, 23, 27)');
  recolour(DARK);
  open_view(VIEW);
  found.problems = problems;
  if (PRINT) document.body.append(Object.assign(document.createElement('pre'), {id: 'found', textContent: JSON.stringify(found)}));
});
</script>"""


def chromium(page, *options):
    return subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND",
                           "--virtual-time-budget=60000", "--window-size=1300,850", *options, page.as_uri()], capture_output=True,
                          text=True, timeout=300)


def main():
    source = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"

        def write(view, show, dark=False):
            probe = PROBE.replace("VIEW", json.dumps(view)).replace("PRINT", json.dumps(show)).replace("DARK", json.dumps(dark))
            page.write_text(source.replace("<body>", "<body>" + probe, 1), encoding="utf-8")

        write("Summary", True)
        printed = chromium(page, "--dump-dom").stdout
        match = re.search(r'<pre id="found">(.*?)</pre>', printed, re.S)
        if not match:
            sys.exit("the page's script did not run to its end")
        found = json.loads(html.unescape(match[1]))
        frames = sorted(found["frames"])
        print(json.dumps(found["views"], indent=1), f"\nopen in {found['ready']:.0f} ms, a frame takes {frames[30]:.1f} ms at the "
              f"median and {frames[-1]:.1f} at most; chosen: {found['chosen'][:100]}")
        if pictures:
            pictures.mkdir(exist_ok=True)
            for i, view in enumerate(found["views"]):
                write(view, False, dark=i % 2 == 1)
                chromium(page, f"--screenshot={pictures / view}.png")
        empty = [name for name, v in found["views"].items() if v["text"] == 0]
        foreign = [name for name, v in found["views"].items() if v["foreign"]]
        if found["problems"] or empty or foreign:
            sys.exit(f"errors {found['problems']}, empty views {empty}, markup from names in {foreign}")


main()
