// tokamax/checkpoint/orbax/save_orbax.hpp: a tree of arrays as a folder that Orbax restores.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs write for Orbax)
#pragma once

#include <tokamax/checkpoint/orbax/zarr_writer.hpp>  // orbax_options
#include <tokamax/checkpoint/state.hpp>              // write_whole

namespace tokamax::checkpoint {

namespace detail {
void save_orbax_leaves(const std::filesystem::path& path, std::vector<named_array> leaves,
                       const orbax_options& options);
}

/// Saves `tree` in the new folder `path`, whole or not at all, so that Orbax restores it as NumPy's arrays or as a tree of JAX's. A folder
/// RUN/5/default is step 5 of a CheckpointManager of RUN.
/// errors  as `save`; tokamax::error for a dtype of 4 bits, or with compression in a program without zstd
template <class Tree>
void save_orbax(const std::filesystem::path& path, const Tree& tree, const orbax_options& options = {}) {
  detail::save_orbax_leaves(path, detail::leaves_of(tree), options);
}

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
namespace detail {

// The keys on the way to a leaf: `blocks[3].up` has the keys blocks, 3 (of a list) and up.
inline std::vector<std::pair<std::string, bool>> keys_of(std::string_view name) {
  std::vector<std::pair<std::string, bool>> result;
  while (!name.empty()) {
    const bool number = name.starts_with('[');
    if (number || name.starts_with('.')) name.remove_prefix(1);
    const std::size_t end = std::min(name.find_first_of(number ? "]" : ".["), name.size());
    result.emplace_back(name.substr(0, end), number);
    name.remove_prefix(std::min(end + (number ? 1 : 0), name.size()));
  }
  return result;
}

TOKAMAX_FILES_COMPILED_ONCE void save_orbax_leaves(const std::filesystem::path& path, std::vector<named_array> leaves,
                                                   const orbax_options& options) {
  check_content({leaves, {}}, path);
  write_whole(path, [&](const std::filesystem::path& folder) {
    const std::unique_ptr<byte_sink> sink = options.use_ocdbt ? make_ocdbt_sink(folder) : make_file_sink(folder);
    nlohmann::json tree = nlohmann::json::object();
    for (named_array& leaf : leaves) {
      leaf.value.materialize();
      nlohmann::json keys = nlohmann::json::array();
      std::string tuple, name;
      for (const auto& [key, number] : keys_of(leaf.name)) {
        keys.push_back({{"key", key}, {"key_type", number ? 1 : 2}});
        tuple += (tuple.empty() ? "'" : ", '") + key + "'";
        name += (name.empty() ? "" : ".") + key;
      }
      write_zarr(*sink, name, leaf, options);
      tree["(" + tuple + (keys.size() == 1 ? ",)" : ")")] = {
          {"key_metadata", keys}, {"value_metadata", {{"value_type", "np.ndarray"}, {"skip_deserialize", false}}}};
    }
    sink->finish();
    const nlohmann::json about = {{"tree_metadata", tree},
                                  {"use_ocdbt", options.use_ocdbt},
                                  {"use_zarr3", options.use_zarr3},
                                  {"store_array_data_equal_to_fill_value", true},
                                  {"custom_metadata", nullptr}};
    const std::string text = about.dump();
    output_file file(folder / "_METADATA");
    file.write(std::as_bytes(std::span(text)));
    file.finish();
  });
}

}  // namespace detail
#endif

}  // namespace tokamax::checkpoint
