// tests/base/tree/tree_path.cpp
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/tree/tree_path.hpp>

using tokamax::matching;
using tokamax::path_matches;

namespace {

constexpr std::string_view path = "blocks[3].attend.qkv.kernel";
static_assert(path_matches(path, path) && path_matches(path, "*") && path_matches(path, "blocks[3].attend"));
static_assert(path_matches(path, "blocks") && path_matches(path, "blocks[3]") &&
              path_matches(path, "blocks[*].attend"));
static_assert(path_matches(path, "*.qkv.*") && path_matches(path, "*.kernel") && path_matches(path, "*qkv*"));
static_assert(path_matches(path, "*k*[*]*a*.*l") && path_matches(path, "**") && path_matches(path, "*attend"));
static_assert(!path_matches(path, "block") && !path_matches(path, "attend") && !path_matches(path, "blocks[3"));
static_assert(!path_matches(path, "blocks[30]") && !path_matches(path, "*.bias") && !path_matches(path, ""));
static_assert(!path_matches("blocks[31].x", "blocks[3]") && !path_matches("blocks[3].norm", "blocks[3].norm.scale"));
static_assert(path_matches("", "") && path_matches("", "*") && !path_matches("", "a") && path_matches("[2]", ""));
static_assert(path_matches("[2].w", "[*].w") && path_matches("heads[\"a.b\"].w", "heads[\"a.b\"]"));
static_assert(!path_matches("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "*a*a*a*a*a*a*a*a*c"), "in time linear in both");
static_assert(matching("blocks[*].attend")(path) && !matching("head")(path));

}  // namespace
