// tokamax/profile/report/page_base.hpp: the part of the page's script that the views stand on: data, elements, numbers, colours.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/report/page.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::profile {

/// Names of the recording come into the page by text nodes and attributes only, so they are never taken for markup.
inline constexpr std::string_view page_base = R"js('use strict';
// All that the page shows; the file has it as text, so that no name can become code.
const data = JSON.parse(document.getElementById('data').textContent);
// In the order of the lists of nanoseconds.
const activities = ['compute', 'transfer', 'compile', 'input', 'wait', 'host', 'idle'];
const activity_colours = ['#3a7bd5', '#8e5bd0', '#c2557a', '#d9822b', '#b9a12c', '#3c9d78', '#9aa4ae'];

// An element with attributes, listeners ("onclick") and children; strings become text.
function make(tag, attributes = {}, ...children) {
  const e = tag.startsWith('svg:') ? document.createElementNS('http://www.w3.org/2000/svg', tag.slice(4))
                                   : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    name.startsWith('on') ? e.addEventListener(name.slice(2), value) : e.setAttribute(name, value);
  e.append(...children);
  return e;
}
// An element of SVG with a text that appears under the pointer.
const titled = (e, text) => (e.append(make('svg:title', {}, text)), e);

// Three digits.
function digits(v) { return v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2); }
// Nanoseconds in the unit that fits.
function time(ns) {
  const a = Math.abs(ns), sign = ns < 0 ? '-' : '';
  return sign + (a >= 1e9 ? digits(a / 1e9) + ' s' : a >= 1e6 ? digits(a / 1e6) + ' ms' : a >= 1e3 ? digits(a / 1e3) + ' µs'
                                                                                            : a.toFixed(0) + ' ns');
}
// A number with the prefix that fits.
function prefixed(v) {
  const units = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
  let i = 0;
  while (v >= 1000 && i < 6) v /= 1000, ++i;
  return (v ? digits(v) : '0') + ' ' + units[i];
}
const percent = v => (100 * (v || 0)).toFixed(1) + ' %';

// The same first word has the same colour in all views.
const hues = new Map();
function colour(name) {
  const kind = name.split(' ', 1)[0];
  if (!hues.has(kind)) {
    let h = 0;  // a hash of the word
    for (let i = 0; i < kind.length; ++i) h = (h * 31 + kind.charCodeAt(i)) >>> 0;
    hues.set(kind, `hsl(${h % 360} 52% ${52 + h % 12}%)`);
  }
  return hues.get(kind);
}
// The value of a variable of the style.
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name);

// Views are sections with a tab each; `open` draws one when it is first seen, and again after a change of colours.
const views = [];
let current = null;  // the view in sight
function add_view(name, draw) {
  const section = make('section', {id: name.toLowerCase(), hidden: '', role: 'tabpanel'});
  const tab = make('button', {role: 'tab', onclick: () => open_view(name)}, name);
  views.push({name, draw, section, tab});
}
// Draws a view anew and hides the others.
function open_view(name) {
  for (const v of views) {
    const here = v.name === name;
    v.section.hidden = !here;
    v.tab.setAttribute('aria-selected', here);
    if (here) {
      current = v;
      v.section.replaceChildren();
      v.draw(v.section);
    }
  }
}

// A table whose columns [title, value of a row, text of a value] sort by a click.
function sortable(columns, rows, options = {}) {
  let by = options.by ?? 0, down = true;  // the column, the greatest first
  const body = make('tbody'), heads = columns.map(([title], i) => make('th', {class: i ? '' : 'name', tabindex: 0,
    onclick: () => sort(i), onkeydown: e => e.key === 'Enter' && sort(i)}, title));
  // The first click on numbers shows the greatest first, on names the first.
  function sort(i) {
    down = i === by ? !down : i > 0;
    by = i;
    fill();
  }
  function fill() {
    const value = columns[by][1], most = options.most ?? 500;
    const sorted = [...rows].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (down ? -1 : 1));
    body.replaceChildren(...sorted.slice(0, most).map(r => make('tr', {}, ...columns.map(([, get, show], i) =>
      make('td', {class: i ? '' : 'name'}, show ? show(get(r), r) : String(get(r)))))));
    if (rows.length > most) body.append(make('tr', {}, make('td', {class: 'name faint', colspan: columns.length},
      `${rows.length - most} more rows; the filter finds them`)));
    heads.forEach((h, i) => h.setAttribute('aria-sort', i !== by ? 'none' : down ? 'descending' : 'ascending'));
  }
  fill();
  return make('div', {class: 'scroll'}, make('table', {}, make('thead', {}, make('tr', {}, ...heads)), body));
}
)js";

}  // namespace tokamax::profile
