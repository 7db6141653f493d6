// tokamax/profile/report/page_views.hpp: the part of the page's script with the tables and charts beside the timeline.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/report/page.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::profile {

/// The views Summary, Flames, Ops, Roofline and Steps, linked to the timeline, and what opens the page.
inline constexpr std::string_view page_views = R"js(
// A link to the timeline, where the records of a name are found. Of a long name its beginning is shown.
const to_timeline = text => make('a', {href: '#timeline', onclick: e => {
  e.preventDefault();
  open_view('Timeline');
  document.getElementById('search').value = text;
  search(text);
}, style: 'color: inherit', title: text}, text.length > 160 ? text.slice(0, 160) + '…' : text || '(none)');

// Shares of the time side by side.
function activity_bar(shares) {
  const bar = make('svg:svg', {viewBox: '0 0 1000 26', height: 26, preserveAspectRatio: 'none'});
  let x = 0;
  shares.forEach((share, i) => {
    const box = {x, y: 2, width: 1000 * share, height: 22, fill: activity_colours[i]};
    if (share > 0) bar.append(titled(make('svg:rect', box), `${activities[i]} ${percent(share)}`));
    x += 1000 * share;
  });
  return bar;
}
// What a user should see first.
add_view('Summary', section => {
  const s = data.summary, all = data.steps.length.mean * data.steps.length.count || 1;
  const means = activities.map(a => data.steps.activities[a]);
  section.append(make('h2', {}, data.steps.marked ? `${data.steps.steps.length} steps, ${time(data.steps.length.median)} each`
                                                  : `${time(data.length)} without marks of steps`),
                 activity_bar(means.map(m => m.mean * m.count / all)));
  const named = a => make('span', {}, make('span', {style: `color: ${activity_colours[activities.indexOf(a)]}`}, '■ '), a);
  section.append(sortable([['activity', r => r[0], named], ['mean', r => r[1].mean, time], ['± deviation', r => r[1].deviation, time],
    ['least', r => r[1].least, time], ['most', r => r[1].most, time], ['share', r => r[1].mean * r[1].count / all, percent]],
    activities.map((a, i) => [a, means[i]]).filter(r => r[1].most > 0), {by: 1}));
  section.append(make('h2', {}, 'Suggestions'));
  if (!s.suggestions.length) section.append(make('p', {class: 'faint'}, 'No rule found anything to make faster.'));
  for (const one of s.suggestions)
    section.append(make('div', {class: 'card'}, make('b', {}, one.rule), ` may save up to ${time(one.saving)}. `, one.text,
      make('div', {}, one.cure), make('div', {class: 'faint'},
        `measured ${digits(one.value)}, threshold ${one.threshold}. `, ...one.ops.slice(0, 4).flatMap(o => [to_timeline(o), ' ']))));
  section.append(make('h2', {}, 'Run'), make('p', {}, s.input), make('p', {}, !data.limits.flops ? '' :
    `MFU ${percent(s.flops_utilization)} of ${prefixed(data.limits.flops)}FLOP/s (bf16: ` +
    `${prefixed(data.limits.bfloat16_flops)}FLOP/s), ${prefixed(data.limits.bytes)}B/s`));
  for (const [device, part] of Object.entries(s.duty_cycles))
    section.append(make('div', {}, `${device} ran programs for ${percent(part)} of the time`));
  section.append(make('p', {class: s.dropped ? 'warn' : 'faint'}, `${s.records} records, ${s.dropped} dropped`));
});

// Stacks as a tree: {name, self, total, children}. A node is as wide as its total.
function flame_tree() {
  const root = {name: 'all', total: 0, children: new Map()};
  for (const stack of data.stacks) {
    const ns = stack[stack.length - 1];
    let node = root;
    node.total += ns;
    for (const frame of stack.slice(0, -1)) {
      if (!node.children.has(frame)) node.children.set(frame, {name: data.frames[frame], total: 0, children: new Map()});
      node = node.children.get(frame);
      node.total += ns;
    }
  }
  return root;
}
// A click on a frame makes it as wide as the picture; the frames above it stay as buttons.
add_view('Flames', section => {
  // Frames that are narrower than half a pixel are left out, with all that they contain.
  const root = flame_tree(), picture = make('svg:svg', {role: 'img'}), path = make('div', {class: 'tools'});
  function draw(top, trail) {
    let depth = 0;
    picture.replaceChildren();
    const place = (node, x, y) => {
      const width = 1200 * node.total / (top.total || 1);
      if (width < 0.6) return;
      depth = Math.max(depth, y + 1);
      const text = `${node.name}: ${time(node.total)}, ${percent(node.total / (root.total || 1))}`;
      const here = make('svg:g', {class: 'hit', tabindex: 0, onclick: () => draw(node, [...trail, top]),
                                  onkeydown: e => e.key === 'Enter' && draw(node, [...trail, top])},
        make('svg:rect', {x, y: 19 * y, width: Math.max(0.5, width - 0.6), height: 18, fill: colour(node.name)}));
      if (width > 30) here.append(make('svg:text', {x: x + 3, y: 19 * y + 13, style: 'fill: #fff'}, node.name.slice(0, width / 6.2)));
      picture.append(titled(here, text));
      for (const child of [...node.children.values()].sort((a, b) => b.total - a.total)) {
        place(child, x, y + 1);
        x += 1200 * child.total / (top.total || 1);
      }
    };
    place(top, 0, 0);
    picture.setAttribute('viewBox', `0 0 1200 ${19 * depth}`);
    path.replaceChildren('by scope; a click enlarges: ', ...trail.map((n, i) =>
      make('button', {onclick: () => draw(n, trail.slice(0, i))}, n.name)), make('b', {}, top.name));
  }
  draw(root, []);
  section.append(path, picture);
});

// Titles, values and texts of the table of ops.
const op_columns = [['name', r => r.name, to_timeline], ['self', r => r.self, time], ['share', r => r.share, percent],
  ['total', r => r.total, time], ['count', r => r.count], ['FLOP/s', r => r.flops_per_second, prefixed],
  ['B/s', r => r.bytes_per_second, prefixed], ['FLOP/B', r => r.intensity, v => digits(v)], ['roof', r => r.roof, percent],
  ['bound by', r => r.bound_by]];
// The filter looks at the names of all rows, the table shows 500.
add_view('Ops', section => {
  let by = 'op', text = '';  // what the rows are, and the filter
  const place = make('div');
  const draw = () => place.replaceChildren(sortable(op_columns, data.ops[by].filter(r => r.name.toLowerCase().includes(text)), {by: 1}));
  section.append(make('div', {class: 'tools'}, 'by', make('select', {onchange: e => { by = e.target.value; draw(); }},
    ...Object.keys(data.ops).map(k => make('option', {}, k))),
    make('input', {id: 'search', type: 'search', placeholder: 'filter', oninput: e => { text = e.target.value.toLowerCase(); draw(); }}),
    make('span', {class: 'faint'}, 'a name leads to the timeline')), place);
  draw();
});

// Both axes are logarithmic: operations for each byte, and operations a second.
add_view('Roofline', section => {
  const points = data.ops.op.filter(r => r.intensity > 0 && r.flops_per_second > 0), limits = data.limits;
  if (!points.length || !limits.flops || !limits.bytes) {
    section.append(make('p', {}, points.length ? 'The recording does not tell the limits of its machine.'
                                               : 'No op with operations and bytes was recorded.'));
    return;
  }
  const peak = Math.max(limits.flops, points.some(p => p.bfloat16_flops) ? limits.bfloat16_flops : 0);
  const range = (values, pad) => [Math.log10(Math.min(...values)) - pad, Math.log10(Math.max(...values)) + pad];
  const [x0, x1] = range([peak / limits.bytes, ...points.map(p => p.intensity)], 0.7);
  const [y0, y1] = range([peak, ...points.map(p => p.flops_per_second)], 0.5);
  const x = v => 60 + 920 * (Math.log10(v) - x0) / (x1 - x0), y = v => 420 - 400 * (Math.log10(v) - y0) / (y1 - y0);
  const picture = make('svg:svg', {viewBox: '0 0 1000 450', role: 'img'});
  for (let k = Math.ceil(x0); k <= x1; ++k)
    picture.append(make('svg:line', {x1: x(10 ** k), x2: x(10 ** k), y1: 20, y2: 420}),
                   make('svg:text', {x: x(10 ** k) + 2, y: 434}, `${10 ** k}`));
  for (let k = Math.ceil(y0); k <= y1; ++k)
    picture.append(make('svg:line', {x1: 60, x2: 980, y1: y(10 ** k), y2: y(10 ** k)}),
                   make('svg:text', {x: 2, y: y(10 ** k) + 4}, prefixed(10 ** k)));
  // The roof rises with the bandwidth up to the ridge, and is flat behind it.
  const left = Math.max(10 ** x0, 10 ** y0 / limits.bytes), ridge = peak / limits.bytes;
  picture.append(make('svg:path', {class: 'roof',
    d: `M${x(left)} ${y(left * limits.bytes)} L${x(ridge)} ${y(peak)} L980 ${y(peak)}`}));
  for (const p of points)
    picture.append(titled(make('svg:circle', {class: 'hit', cx: x(p.intensity), cy: y(p.flops_per_second), tabindex: 0,
      r: 3 + 22 * Math.sqrt(p.share), fill: colour(p.name), 'fill-opacity': 0.75, onclick: () => to_timeline(p.name).click()}),
      `${p.name}: ${prefixed(p.flops_per_second)}FLOP/s, ${percent(p.roof)} of the roof, bound by ${p.bound_by}`));
  section.append(make('p', {class: 'faint'}, `FLOP/s over FLOP per byte; the ridge is at ${digits(ridge)} FLOP/B; areas are shares ` +
    'of the time'), picture);
});

// A bar for each step; of more than 400, the longest of each group has the bar.
add_view('Steps', section => {
  const all = data.steps.steps, group = Math.max(1, Math.ceil(all.length / 400)), bars = [];
  for (let i = 0; i < all.length; i += group)
    bars.push(all.slice(i, i + group).reduce((a, b) => (b.length > a.length ? b : a)));
  const most = Math.max(1, ...bars.map(s => s.length)), w = 1000 / Math.max(1, bars.length);
  const picture = make('svg:svg', {viewBox: '0 0 1000 240', role: 'img', preserveAspectRatio: 'none', height: 260});
  bars.forEach((s, i) => {
    let y = 236;
    const bar = make('svg:g', {class: 'hit', onclick: () => { open_view('Timeline'); zoom_to(s.begin, s.begin + s.length); }});
    s.by.forEach((ns, a) => {
      const h = 230 * ns / most;
      if (h > 0) bar.append(make('svg:rect', {x: i * w, y: y -= h, width: Math.max(0.4, w * 0.92), height: h,
                                              fill: activity_colours[a]}));
    });
    picture.append(titled(bar, `step ${s.number}: ${time(s.length)}; ` + activities.map((n, a) => [n, s.by[a]]).filter(p => p[1])
      .map(([n, ns]) => `${n} ${time(ns)}`).join(', ')));
  });
  section.append(make('p', {class: 'faint'}, 'a click leads to the step in the timeline'), picture,
    sortable([['step', s => s.number], ['length', s => s.length, time],
              ...activities.map((n, a) => [n, s => s.by[a], v => (v ? time(v) : '')])], all, {by: 1}));
});

// Colours of drawings come from the style, so views are drawn anew.
function recolour(dark) {
  document.documentElement.classList.toggle('dark', dark);
  for (const item of data.items) item.colour = colour(item.name);
  if (current) open_view(current.name);
}
// The page begins here.
const order = ['Summary', 'Timeline', 'Flames', 'Ops', 'Roofline', 'Steps'];
views.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
document.body.append(make('header', {}, make('h1', {}, data.title), make('div', {class: 'tools', role: 'tablist'},
  ...views.map(v => v.tab)), make('button', {onclick: () => recolour(!document.documentElement.classList.contains('dark'))},
  'light / dark')), make('main', {}, ...views.map(v => v.section)));
addEventListener('keydown', on_key);
addEventListener('resize', () => current?.name === 'Timeline' && open_view('Timeline'));
recolour(matchMedia('(prefers-color-scheme: dark)').matches);
open_view('Summary');
)js";

}  // namespace tokamax::profile
