// tokamax/base/version.hpp: the version of the library, the only place that states it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax {

/// Semantic version; the build files and packages read it from this line.
inline constexpr std::string_view version = "0.1.0";

}  // namespace tokamax
