// tests/fuzz/xspace.cpp: any bytes as an XSpace, of which all tables and files are made.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/files/from_xspace.hpp>
#include <tokamax/profile/files/perfetto.hpp>
#include <tokamax/profile/files/read_xspace.hpp>
#include <tokamax/profile/files/to_xspace.hpp>
#include <tokamax/profile/report/page.hpp>
#include <tokamax/profile/report/to_text.hpp>

#include "fuzz/fuzz.hpp"

namespace profile = tokamax::profile;

void fuzz(std::string_view bytes) {
  only_errors([&] {
    const profile::xspace read = profile::read_xspace(bytes, "bytes");
    const profile::recording all = profile::to_recording(read);
    const profile::roofline limits = profile::limits_of(read);
    profile::summary_text(all, limits);
    profile::to_html(all, limits);
    profile::to_perfetto(all);
    const std::string again = profile::to_bytes(profile::to_xspace(all, limits));
    if (profile::to_recording(profile::read_xspace(again, "again")).tracks.size() > all.tracks.size() + 1) std::abort();
  });
}
