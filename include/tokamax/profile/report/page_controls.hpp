// tokamax/profile/report/page_controls.hpp: the part of the page's script that lets a user move in the timeline and search it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/report/page.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::profile {

/// Keys are those of XProf and Perfetto: w and s zoom, a and d move, f shows the chosen record, m measures it.
inline constexpr std::string_view page_controls = R"js(
// The time at a distance from the left border of the canvas.
const time_at = x => view.from + x / view.canvas.clientWidth * (view.to - view.from);
// The record at a point of the canvas.
function record_at(x, y) {
  if (y < band) return null;
  const lane = lanes()[Math.floor((y - band + view.top) / row_height)];
  if (!lane || !lane.row) return null;
  const level = lane.row.levels[0], slack = 2 * (view.to - view.from) / view.canvas.clientWidth, t = time_at(x);
  const i = first_after(level, t - slack);
  if (i >= level.begin.length || level.begin[i] > t + slack) return null;
  return {row: lane.row, track: lane.track, index: i, begin: level.begin[i], end: level.end[i], item: level.item[i]};
}
// Shows what is known of a record below the canvas; null shows nothing.
function choose(c) {
  view.chosen = c;
  const out = document.getElementById('detail');
  if (!out) return;
  if (!c) {
    out.replaceChildren();
    return;
  }
  const item = data.items[c.item], length = c.end - c.begin, parts = [`${time(length)} at ${time(c.begin)}`];
  if (item.flops) parts.push(prefixed(item.flops / length * 1e9) + 'FLOP/s');
  if (item.bytes) parts.push(prefixed(item.bytes / length * 1e9) + 'B/s');
  if (item.best) parts.push(percent(item.best / length) + ' of the roof');
  if (item.scope) parts.push('scope ' + item.scope);
  if (item.place) parts.push('line ' + item.place);
  out.replaceChildren(make('b', {}, item.name), make('div', {class: 'faint'}, parts.join(' · ') + ' · ' + c.track.name));
  redraw();
}
// Records whose name, scope or line has the text are in colour, all others grey.
function search(text) {
  const wanted = text.trim().toLowerCase();
  view.found = wanted ? data.items.map(i => `${i.name}\n${i.scope}\n${i.place}`.toLowerCase().includes(wanted)) : null;
  redraw();
}
// The next record that was found behind the chosen one, or behind the left border, in any track; the first after the last.
function next_found() {
  if (!view.found) return;
  const after = view.chosen ? view.chosen.begin : view.from - 1;
  let best = null, first = null;
  for (const {row, track} of lanes()) {
    if (!row) continue;
    const level = row.levels[0];
    const hit = from => {
      for (let i = from; i < level.begin.length; ++i)
        if (view.found[level.item[i]] && level.begin[i] > (from ? after : -1))
          return {row, track, index: i, begin: level.begin[i], end: level.end[i], item: level.item[i]};
      return null;
    };
    const next = hit(first_after(level, after)), any = hit(0);
    if (next && next.begin > after && (!best || next.begin < best.begin)) best = next;
    if (any && (!first || any.begin < first.begin)) first = any;
  }
  choose(best ?? first);
  if (view.chosen) show(view.chosen.begin, view.chosen.end);
}
// A record with as much again three times around it.
function show(begin, end) {
  const margin = Math.max(3 * (end - begin), 50);
  zoom_to(begin - margin, end + margin);
}
// Keys of a field that is typed into are its own.
function on_key(e) {
  const typing = /INPUT|SELECT|TEXTAREA/.test(e.target.tagName);
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (typing) {
    if (e.key === 'Escape') e.target.blur();
    if (e.key === 'Enter' && e.target.id === 'search') next_found();
    return;
  }
  const number = Number(e.key);  // the views are 1 to 6
  if (number >= 1 && number <= views.length) return open_view(views[number - 1].name);
  if (e.key === '/' && document.getElementById('search')) return e.preventDefault(), document.getElementById('search').focus();
  if (current?.name !== 'Timeline') return;
  const c = view.chosen, keys = {
    w: () => zoom(0.6), s: () => zoom(1 / 0.6), a: () => pan(-0.25), d: () => pan(0.25), ArrowLeft: () => pan(-0.1),
    ArrowRight: () => pan(0.1), ArrowUp: () => scroll_by(-54), ArrowDown: () => scroll_by(54), 0: () => zoom_to(0, data.length),
    f: () => c && show(c.begin, c.end), m: () => { view.measured = c ? [c.begin, c.end] : null; redraw(); }, n: next_found,
    Escape: () => { view.measured = null; choose(null); redraw(); }};
  if (keys[e.key]) e.preventDefault(), keys[e.key]();
}
// Scrolls no further than the last lane.
function scroll_by(pixels) {
  const most = Math.max(0, lanes().length * row_height + band - view.canvas.clientHeight);
  view.top = Math.min(most, Math.max(0, view.top + pixels));
  redraw();
}
// A drag moves the times, with shift it measures; the wheel scrolls the tracks, with ctrl or shift it zooms.
function watch(canvas) {
  let drag = null;  // where and at which times it began
  canvas.onpointerdown = e => {
    drag = {x: e.offsetX, y: e.offsetY, from: view.from, to: view.to, top: view.top, measure: e.shiftKey, moved: false};
    if (drag.measure) view.measured = [time_at(e.offsetX), time_at(e.offsetX)];
    canvas.setPointerCapture(e.pointerId);
  };
  canvas.onpointermove = e => {
    if (!drag) return;
    drag.moved ||= Math.abs(e.offsetX - drag.x) + Math.abs(e.offsetY - drag.y) > 3;
    if (drag.measure) return view.measured[1] = time_at(e.offsetX), redraw();
    const d = (drag.x - e.offsetX) / canvas.clientWidth * (drag.to - drag.from);
    scroll_by(drag.top + drag.y - e.offsetY - view.top);
    zoom_to(drag.from + d, drag.to + d);
  };
  canvas.onpointerup = e => {
    // A drag that did not move is a click.
    if (drag && !drag.moved) choose(record_at(e.offsetX, e.offsetY)), redraw();
    drag = null;
  };
  canvas.ondblclick = e => {
    const r = record_at(e.offsetX, e.offsetY);
    if (r) choose(r), show(r.begin, r.end);
  };
  canvas.addEventListener('wheel', e => {
    e.preventDefault();
    if (e.ctrlKey || e.shiftKey) zoom(2 ** ((e.deltaY || e.deltaX) / 300), time_at(e.offsetX));
    else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan(e.deltaX / canvas.clientWidth);
    else scroll_by(e.deltaY);
  }, {passive: false});
}
// The canvas is as high as its lanes, if they fit into the window.
add_view('Timeline', section => {
  const height = Math.min(Math.max(220, lanes().length * row_height + band + 4), Math.max(260, innerHeight - 190));
  const canvas = make('canvas', {style: `height: ${height}px`, tabindex: 0, 'aria-label': 'tracks over time'});
  section.append(make('div', {class: 'tools'},
    make('input', {id: 'search', type: 'search', placeholder: 'search: name, scope, line', size: 34,
                   oninput: e => search(e.target.value)}),
    make('button', {onclick: next_found}, 'next'), make('button', {onclick: () => zoom_to(0, data.length)}, 'whole'),
    make('span', {class: 'faint'}, 'w s zoom · a d move · f show · m or shift-drag measure · / search · n next · 0 whole')),
    canvas, make('div', {id: 'detail'}));
  view.canvas = canvas;
  watch(canvas);
  choose(view.chosen);
  draw_timeline();
});
)js";

}  // namespace tokamax::profile
