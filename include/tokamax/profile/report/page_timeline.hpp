// tokamax/profile/report/page_timeline.hpp: the part of the page's script that draws tracks on a canvas.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/report/page.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::profile {

/// Records of one track and depth are disjoint and ascending. Eight of them are one block of the next level of detail, so that
/// a frame draws at most a few blocks for each pixel, however many records there are.
inline constexpr std::string_view page_timeline = R"js(
// The bytes of a text in base64. New browsers have a function for it.
function decoded(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
// Begins and ends in nanoseconds; numbers of 64 bits hold them exactly for a hundred days.
const new_level = n => ({begin: new Float64Array(n), end: new Float64Array(n), item: new Uint32Array(n)});

// The level whose blocks have eight records of the level below. A block has the colour of its longest record.
function coarser(fine) {
  const n = Math.ceil(fine.begin.length / 8), level = new_level(n);
  for (let i = 0; i < n; ++i) {
    const from = 8 * i, until = Math.min(from + 8, fine.begin.length);
    let longest = from;
    for (let k = from; k < until; ++k)
      if (fine.end[k] - fine.begin[k] > fine.end[longest] - fine.begin[longest]) longest = k;
    level.begin[i] = fine.begin[from];
    level.end[i] = fine.end[until - 1];
    level.item[i] = fine.item[longest];
  }
  return level;
}
// Words of 32 bits: begin and length in units of data.unit, then depth * 2^24 + item.
function rows_of(track) {
  const bytes = decoded(track.records), words = new Uint32Array(bytes.buffer, 0, bytes.length >> 2), counts = [];
  for (let i = 2; i < words.length; i += 3) counts[words[i] >>> 24] = (counts[words[i] >>> 24] ?? 0) + 1;
  const rows = Array.from(counts, n => ({levels: [new_level(n ?? 0)], used: 0}));
  for (let i = 0; i < words.length; i += 3) {
    const row = rows[words[i + 2] >>> 24], level = row.levels[0], k = row.used++;
    level.begin[k] = words[i] * data.unit;
    level.end[k] = (words[i] + words[i + 1]) * data.unit;
    level.item[k] = words[i + 2] & 0xFFFFFF;
  }
  for (const row of rows)
    for (let level = row.levels[0]; level.begin.length > 64;) row.levels.push(level = coarser(level));
  return rows;
}
// The first block that ends after a time.
function first_after(level, t) {
  let low = 0, high = level.end.length;  // ends ascend, because records of a row are disjoint
  while (low < high) {
    const middle = (low + high) >> 1;
    if (level.end[middle] > t) high = middle; else low = middle + 1;
  }
  return low;
}

// What the canvas shows: times from and to, pixels above the top, the chosen record, measured times, items that were found.
const view = {from: 0, to: Math.max(1, data.length), top: 0, chosen: null, measured: null, found: null, lanes: null};
const row_height = 18, band = 22;

// The lanes of the canvas: a heading for each track, a row for each depth of it.
function lanes() {
  if (view.lanes) return view.lanes;
  view.lanes = [];
  for (const track of data.tracks) {
    const dropped = track.dropped ? `, ${track.dropped} older records dropped` : '';
    view.lanes.push({heading: `${track.name} (${track.count} records${dropped})`});
    for (const row of rows_of(track)) view.lanes.push({row, track});
  }
  for (const c of data.counters) view.lanes.push({heading: c.name, counter: c}, {counter: c, plot: true});
  return view.lanes;
}

// One depth of a track. Blocks narrower than a pixel are drawn once for each pixel.
function draw_row(g, row, y, width) {
  const scale = width / (view.to - view.from), fine = row.levels[0];
  const count = first_after(fine, view.to) - first_after(fine, view.from);
  let l = 0;  // the level of which there are about two blocks a pixel
  for (let n = count; n > 2 * width && l + 1 < row.levels.length; n /= 8) ++l;
  const level = row.levels[l];
  let painted = -1, last = '';  // the pixel that was drawn last, and its colour
  for (let i = first_after(level, view.from); i < level.begin.length && level.begin[i] < view.to; ++i) {
    const x = Math.max(0, (level.begin[i] - view.from) * scale), end = Math.min(width, (level.end[i] - view.from) * scale);
    if (end - x < 0.7 && x < painted) continue;
    const item = level.item[i], hit = view.found ? view.found[item] : true;
    const fill = hit ? data.items[item].colour : css_line;
    if (fill !== last) g.fillStyle = last = fill;
    const w = Math.max(end - x - (end - x > 3 ? 0.6 : 0), 0.7);
    g.fillRect(x, y, w, row_height - 2);
    painted = x + w;
    if (w > 34) {
      g.fillStyle = last = hit ? '#fff' : css('--faint');
      g.fillText(data.items[item].name.slice(0, (w - 6) / 6), x + 3, y + 12, w - 6);
    }
  }
  const c = view.chosen;
  if (c && c.row === row) {
    g.strokeStyle = css('--front');
    g.strokeRect((c.begin - view.from) * scale, y, Math.max(2, (c.end - c.begin) * scale), row_height - 2);
  }
}
// The values of a counter between its least and its greatest. Each holds until the next one, also before and behind the borders.
function draw_counter(g, c, y, width) {
  const scale = width / (view.to - view.from), low = c.range[0], span = Math.max(c.range[1] - low, 1e-30);
  const last = {end: c.times};
  let i = Math.max(0, first_after(last, view.from) - 1), height = null, before = -9;
  g.strokeStyle = css('--mark');
  g.beginPath();
  for (; i < c.times.length && c.times[i] <= view.to; ++i) {
    const x = Math.max(-5, (c.times[i] - view.from) * scale);
    if (x - before < 0.3) continue;
    if (height !== null) g.lineTo(x, height);
    height = y + (row_height - 4) * (1 - (c.values[i] - low) / span) + 1;
    g.lineTo(before = x, height);
  }
  if (height !== null) g.lineTo(width, height);
  g.stroke();
}
// A time with as many digits as tell it from the next tick.
function ruler_text(t, tick) {
  const [unit, name] = tick >= 1e8 ? [1e9, 's'] : tick >= 1e5 ? [1e6, 'ms'] : tick >= 100 ? [1e3, 'µs'] : [1, 'ns'];
  return (t / unit).toFixed(Math.max(0, Math.ceil(Math.log10(unit / tick) - 1e-9))) + ' ' + name;
}
// The times of the ruler, and the steps above the tracks.
function draw_ruler(g, width) {
  const scale = width / (view.to - view.from), about = 110 / scale, unit = 10 ** Math.floor(Math.log10(about));
  const tick = unit * (about / unit > 5 ? 10 : about / unit > 2 ? 5 : 2);
  g.fillStyle = css('--panel');
  g.fillRect(0, 0, width, band);
  data.steps.steps.forEach((s, i) => {
    const x = (s.begin - view.from) * scale, w = s.length * scale;
    if (x > width || x + w < 0 || w < 1) return;
    g.fillStyle = i % 2 ? css('--line') : css('--panel');
    g.fillRect(x, 0, w, 9);
  });
  g.fillStyle = g.strokeStyle = css('--faint');
  for (let t = Math.ceil(view.from / tick) * tick; t < view.to; t += tick) {
    const x = (t - view.from) * scale;
    g.fillRect(x, band - 6, 1, 6);
    g.fillText(ruler_text(t, tick), x + 3, band - 3);
  }
}
let css_line = '#ccc';
// Draws all lanes that are in sight, the ruler above them and what is measured.
function draw_timeline() {
  const canvas = view.canvas, ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width) return;
  if (canvas.width !== width * ratio || canvas.height !== height * ratio)
    canvas.width = width * ratio, canvas.height = height * ratio;
  const g = canvas.getContext('2d');
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = '11px system-ui, sans-serif';
  css_line = css('--line');
  let y = band - view.top;
  for (const lane of lanes()) {
    if (y > -row_height && y < height) {
      if (lane.row) draw_row(g, lane.row, y, width);
      else if (lane.plot) draw_counter(g, lane.counter, y, width);
      else g.fillStyle = css('--front'), g.fillText(lane.heading, 4, y + 13);
    }
    y += row_height;
  }
  draw_ruler(g, width);
  if (view.measured) {
    const [a, b] = view.measured.map(t => (t - view.from) * width / (view.to - view.from));
    g.fillStyle = 'rgba(60, 130, 240, 0.2)';
    g.fillRect(Math.min(a, b), 0, Math.abs(b - a), height);
    g.fillStyle = css('--front');
    g.fillText(time(Math.abs(view.measured[1] - view.measured[0])), Math.min(a, b) + 4, band + 12);
  }
}
// At most one drawing for each frame of the screen.
let frame = 0;
function redraw() { if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw_timeline(); }); }

// Shows the times from a to b, at least 10 ns and at most three times the recording.
function zoom_to(a, b) {
  const most = 3 * Math.max(1, data.length), length = Math.min(Math.max(b - a, 10), most);
  const middle = Math.min(Math.max((a + b) / 2, -length), data.length + length);
  view.from = middle - length / 2;
  view.to = middle + length / 2;
  redraw();
}
// Keeps the time `at` where it is.
function zoom(factor, at = (view.from + view.to) / 2) {
  zoom_to(at + (view.from - at) * factor, at + (view.to - at) * factor);
}
// Moves by a part of what is in sight.
function pan(part) { const d = part * (view.to - view.from); zoom_to(view.from + d, view.to + d); }
)js";

}  // namespace tokamax::profile
