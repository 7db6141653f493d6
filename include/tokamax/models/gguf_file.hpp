// tokamax/models/gguf_file.hpp: a GGUF file with its tensors.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
#pragma once

#include <tokamax/checkpoint/ggml_blocks.hpp>      // ggml_format
#include <tokamax/core/memory/foreign_memory.hpp>  // map_file
#include <tokamax/models/panel_codes.hpp>          // panel_codes
#include <tokamax/models/tensor_source.hpp>        // tensor_source
#include <tokamax/text/gguf.hpp>                   // gguf_metadata

namespace tokamax::models {

/// A GGUF file, opened for reading. Metadata and the list of tensors are in memory; the tensors stay in the file.
class gguf_file : public text::gguf_metadata {
 public:
  struct tensor {
    tokamax::shape shape;  ///< the outermost axis first, as arrays have it
    const checkpoint::ggml_format* format = nullptr;
    std::uint64_t begin = 0;  ///< in the file

    std::int64_t rows() const { return shape.rank() == 0 ? 1 : size(shape) / std::max<std::int64_t>(1, shape[-1]); }
    std::uint64_t bytes() const { return static_cast<std::uint64_t>(size(shape) / format->elements * format->bytes); }
  };

  /// errors  tokamax::error of the kind `file`, also if a tensor has a format that is not known, is not whole blocks, or lies
  ///         outside of the file
  explicit gguf_file(const std::filesystem::path& path) : gguf_metadata(path) {
    for (std::uint64_t i = 0; i < tensor_count(); ++i) read_entry();
    const double unit = has("general.alignment") ? get<double>("general.alignment") : 32;
    if (!(unit >= 1 && unit <= 1 << 20)) refuse("general.alignment", std::to_string(unit), "1 to 2^20");
    const auto step = static_cast<std::uint64_t>(unit), data = (offset() + step - 1) / step * step;
    for (auto& [name, t] : tensors_) {
      if (t.begin % step != 0)
        refuse("offset of " + name, std::to_string(t.begin), "a multiple of " + std::to_string(step));
      const std::uint64_t size = file().size();
      if (data > size || t.begin > size - data || t.bytes() > size - data - t.begin)
        refuse("tensor " + name, "bytes behind the end",
               "a file of " + std::to_string(data + t.begin + t.bytes()) + " bytes");
      t.begin += data;
    }
  }

  const std::map<std::string, tensor>& tensors() const { return tensors_; }

  /// A tensor as f32 or bf16. If it has this dtype, its elements stay in the file, which must not change as long as it is used; blocks
  /// become floats piece by piece, so that they take no more memory than the result.
  array read(const std::string& name, dtype as) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) refuse("tensor " + name, "nothing", "a tensor");
    const tensor& t = found->second;
    if (const dtype type = t.format->plain;
        type != dtype::none && t.begin % static_cast<std::uint64_t>(size_of(type)) == 0)
      return astype(map_file(file().path(), t.begin, {type, false, t.shape}), as);
    array result = array::uninitialized({as, false, t.shape});
    const std::int64_t blocks = result.size() / t.format->elements,
                       at_once = std::max<std::int64_t>(1, (1 << 18) / t.format->bytes);
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min(blocks, at_once) * t.format->bytes));
    std::vector<float> floats(static_cast<std::size_t>(t.format->elements));
    auto* const to = as == f32 ? result.mutable_data<float>() : nullptr;
    auto* const rounded = as == f32 ? nullptr : result.mutable_data<bfloat16>();
    for (std::int64_t first = 0; first < blocks; first += at_once) {
      const std::int64_t count = std::min(at_once, blocks - first);
      const std::span<std::byte> bytes(piece.data(), static_cast<std::size_t>(count * t.format->bytes));
      file().read(t.begin + static_cast<std::uint64_t>(first * t.format->bytes), bytes);
      for (std::int64_t b = 0; b < count; ++b) {
        const std::int64_t at = (first + b) * t.format->elements;
        float* const block = to ? to + at : floats.data();
        t.format->read(bytes.data() + b * t.format->bytes, block);
        for (std::int64_t i = 0; i < t.format->elements && rounded; ++i) rounded[at + i] = bfloat16(block[i]);
      }
    }
    return result;
  }

  /// Has this tensor rows of codes, which `read_packed` reads?
  bool has_codes(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found != tensors_.end() && found->second.format->codes.bits != 0 &&
           (found->second.shape.rank() == 2 || found->second.shape.rank() == 3);
  }
  /// Rows of a tensor [N, K] of codes, or of each of some [B, N, K], as the columns of packed weights [K, rows], which stand for the
  /// numbers of `read`, bit by bit. It takes no more memory than its result and 64 rows.
  packed_weights read_packed(const std::string& name, std::span<const std::int64_t> rows) const {
    const tensor& t = tensors_.at(name);
    const std::int64_t matrices = t.shape.rank() == 3 ? t.shape[0] : 1;
    detail::panel_codes panels(*t.format, t.shape[-1], std::ssize(rows), matrices);
    const std::int64_t bytes = t.shape[-1] / t.format->elements * t.format->bytes;
    std::vector<std::byte> some(static_cast<std::size_t>(bytes) * panels.columns);
    for (std::int64_t m = 0; m < matrices; ++m)
      for (std::size_t first = 0; first < rows.size();) {
        std::size_t count = 1;  // rows of one panel that lie one behind the other are read together
        while ((first + count) % panels.columns != 0 && first + count < rows.size() &&
               rows[first + count] == rows[first] + static_cast<std::int64_t>(count))
          ++count;
        const std::span<std::byte> read(some.data(), count * static_cast<std::size_t>(bytes));
        file().read(t.begin + static_cast<std::uint64_t>((m * t.shape[-2] + rows[first]) * bytes), read);
        for (std::size_t i = 0; i < count; ++i)
          panels.put(m * std::ssize(rows) + static_cast<std::int64_t>(first + i),
                     read.data() + static_cast<std::int64_t>(i) * bytes);
        first += count;
      }
    return std::move(panels).finish();
  }

 private:
  void read_entry() {
    std::string name = text();
    const std::uint64_t axes = natural(4);
    if (axes > 4) refuse("axes of " + name, std::to_string(axes), "at most 4");
    std::uint64_t extents[4] = {}, elements = 1;
    for (std::uint64_t i = 0; i < axes; ++i) {
      extents[i] = natural(8);
      if (extents[i] > most_elements || (extents[i] != 0 && elements > most_elements / extents[i]))
        refuse("size of " + name, "an extent of " + std::to_string(extents[i]), "fewer elements than 2^48");
      elements *= extents[i];
    }
    tensor t;
    for (std::uint64_t i = axes; i-- > 0;) t.shape.push_back(static_cast<std::int64_t>(extents[i]));
    const std::uint64_t number = natural(4);
    t.format = checkpoint::ggml_format_of(number);
    if (!t.format)
      refuse("type of " + name, std::to_string(number),
             "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K or MXFP4");
    if (axes > 0 && extents[0] % static_cast<std::uint64_t>(t.format->elements) != 0)
      refuse("row of " + name, std::to_string(extents[0]), "whole blocks of " + std::to_string(t.format->elements));
    t.begin = natural(8);
    if (!tensors_.emplace(name, t).second) refuse("tensor", name + " twice", "distinct names");
  }

  static constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;
  std::map<std::string, tensor> tensors_;
};

/// The tensors of a GGUF file.
inline tensor_source tensors_of(std::shared_ptr<const gguf_file> file, std::string where) {
  tensor_source result{
      .shapes = {},
      .read = [file](const std::string& name, dtype as) { return file->read(name, as); },
      .has_codes = [file](const std::string& name) { return file->has_codes(name); },
      .read_packed = [file](const std::string& name,
                            std::span<const std::int64_t> rows) { return file->read_packed(name, rows); },
      .where = std::move(where)};
  for (const auto& [name, t] : file->tensors()) result.shapes.emplace(name, t.shape);
  return result;
}

}  // namespace tokamax::models
