// tokamax/transforms/remat/checkpoint_name.hpp: names of values, by which policies of remat choose.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/stop_gradient.hpp>  // identity_infer

#include <string_view>  // string_view

namespace tokamax {

/// The attributes of checkpoint_name.
struct checkpoint_name_attributes {
  text_attribute name = {};
};

/// A value with a name.
inline constexpr op checkpoint_name_p{
    .name = "checkpoint_name",
    .algebra = {.linear = true},
    .memory = {.kind = op_kind::alias},
    .attributes = schema<checkpoint_name_attributes>,
    .infer = detail::identity_infer,
    .vjp = [](const call& c) -> arrays { return c.ct(); },
    .jvp = [](const call& c) -> arrays { return c.tangents[0]; },
    .batch = [](const call& c) -> arrays { return bind(*c.self, {c[0]}, c.attribute_words(), c.where); },
};

/// The value x, which has a name for the policies of remat, such as save_only_these_names. Other parts of a program do not
/// see the name, and derivatives have none.
///
///   h = checkpoint_name(attend(norm(x)), "attention");
///
/// source  jax.ad_checkpoint.checkpoint_name
constexpr array checkpoint_name(const array& x, std::string_view name, source_line l = source_line::current()) {
  return bind(described<checkpoint_name_p>(), {x}, checkpoint_name_attributes{name}, l);
}

}  // namespace tokamax
