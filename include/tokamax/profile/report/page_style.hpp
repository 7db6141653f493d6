// tokamax/profile/report/page_style.hpp: the style of the page of a recording.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/report/page.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::profile {

/// Colours are variables, with those of the dark page where the system or the button asks for them.
inline constexpr std::string_view page_style = R"css(
:root { --back: #fff; --front: #1b1f24; --faint: #6a737d; --line: #d8dee4; --panel: #f6f8fa; --mark: #0b62d6; --warn: #b3480a }
:root.dark { --back: #14171b; --front: #e3e7eb; --faint: #8f99a3; --line: #30363d; --panel: #1d2228; --mark: #6cb0ff; --warn: #ffa657 }
* { box-sizing: border-box }
body { margin: 0; font: 14px/1.45 system-ui, sans-serif; background: var(--back); color: var(--front) }
header { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: center; padding: 6px 14px; background: var(--panel);
  border-bottom: 1px solid var(--line) }
h1 { font-size: 15px; margin: 0 12px 0 0; overflow-wrap: anywhere } h2 { font-size: 15px; margin: 18px 0 6px }
button, input, select { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--line); border-radius: 5px;
  padding: 2px 9px }
button[aria-selected=true] { border-color: var(--mark); color: var(--mark) }
:focus-visible { outline: 2px solid var(--mark) }
main { padding: 0 14px 20px } section[hidden] { display: none }
table { border-collapse: collapse; width: 100% } th, td { text-align: right; padding: 2px 8px; border-bottom: 1px solid var(--line);
  font-variant-numeric: tabular-nums; white-space: nowrap }
th { position: sticky; top: 0; background: var(--panel); cursor: pointer; user-select: none }
td.name, th.name { text-align: left; white-space: normal; overflow-wrap: anywhere; unicode-bidi: isolate }
.scroll { overflow: auto; max-height: 75vh } .faint { color: var(--faint) } .warn { color: var(--warn) }
.card { border: 1px solid var(--line); border-left: 4px solid var(--warn); border-radius: 5px; padding: 6px 12px; margin: 6px 0 }
.tools { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin: 10px 0 6px }
canvas { display: block; width: 100%; border: 1px solid var(--line); touch-action: none } svg { width: 100%; display: block }
svg text { fill: var(--front); font: 11px system-ui, sans-serif } svg line, svg path { stroke: var(--line); fill: none }
svg .roof { stroke: var(--front); stroke-width: 1.5 } svg .hit { cursor: pointer }
#detail { min-height: 3em; padding: 4px 0; overflow-wrap: anywhere; unicode-bidi: isolate }
)css";

}  // namespace tokamax::profile
