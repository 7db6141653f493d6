// tokamax/profile/report/page_memory.hpp: the part of the page's script with the memory of programs.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/report/page.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::profile {

/// The view Memory: the arena of a program by steps and addresses, and what lives at its peak.
inline constexpr std::string_view page_memory = R"js(
// A box for each intermediate value: as wide as the steps that hold it, as high as its bytes, at its place in the arena.
function arena_picture(m) {
  const picture = make('svg:svg', {viewBox: '0 0 1000 300', role: 'img', preserveAspectRatio: 'none', height: 300});
  const steps = Math.max(1, m.steps), bytes = Math.max(1, m.arena_bytes);
  for (const b of m.buffers.filter(b => b.role === 'intermediate'))
    picture.append(titled(make('svg:rect', {x: 1000 * b.first / steps, width: Math.max(0.5, 1000 * (b.last + 1 - b.first) / steps),
      y: 300 - 300 * (b.offset + b.bytes) / bytes, height: Math.max(0.5, 300 * b.bytes / bytes), fill: colour(b.name),
      'fill-opacity': b.at_peak ? 1 : 0.55}), `${prefixed(b.bytes)}B, steps ${b.first} to ${b.last}: ${b.type} ${b.name}`));
  const x = 1000 * (m.peak_step + 0.5) / steps;
  picture.append(make('svg:line', {x1: x, x2: x, y1: 0, y2: 300}));
  return picture;
}
add_view('Memory', section => {
  if (!data.memory.length) {
    section.append(make('p', {}, 'No whole program was recorded, so nothing is known of its memory.'));
    return;
  }
  const place = make('div');
  const draw = i => {
    const m = data.memory[i].memory, at_peak = m.buffers.filter(b => b.at_peak);
    place.replaceChildren(make('h2', {}, `${prefixed(m.peak_bytes)}B are held at step ${m.peak_step} of ${m.steps}`),
      make('p', {}, `The arena has ${prefixed(m.arena_bytes)}B; ${prefixed(m.reserved_bytes - m.peak_bytes)}B of it are unused at the peak.`),
      make('p', {class: 'faint'}, 'the arena by steps and addresses; the line is the peak'), arena_picture(m),
      sortable([['value', b => b.name, to_timeline], ['bytes', b => b.bytes, v => prefixed(v) + 'B'],
                ['share', b => b.bytes / m.peak_bytes, percent], ['type', b => b.type], ['role', b => b.role],
                ['steps', b => b.first, (v, b) => `${b.first} to ${b.last}`], ['line', b => b.place]], at_peak, {by: 1}));
  };
  section.append(make('div', {class: 'tools'}, 'program', make('select', {onchange: e => draw(e.target.selectedIndex)},
    ...data.memory.map(p => make('option', {}, `${p.program}: ${prefixed(p.memory.peak_bytes)}B, ${p.memory.steps} steps`)))), place);
  draw(0);
});
)js";

}  // namespace tokamax::profile
