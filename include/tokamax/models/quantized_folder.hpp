// tokamax/models/quantized_folder.hpp: the tensors of folders whose matrices are floats of 8 or 4 bits with scales.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/quantized_folder.cpp
#pragma once

#include <tokamax/checkpoint/json_record.hpp>  // json_record
#include <tokamax/models/panel_codes.hpp>      // panel_codes
#include <tokamax/models/tensor_source.hpp>    // tensor_source

#include <memory>  // make_shared

namespace tokamax::models {

namespace detail {

// Two terms that lie one behind the other share a byte.
inline void read_mxfp4_pairs(const std::byte* b, checkpoint::ggml_block& to) {
  to.scale[0] = checkpoint::detail::e8m0(b);
  for (int j = 0; j < 16; ++j) {
    const int q = checkpoint::detail::ggml_byte(b + 1 + j);
    to.code[2 * j] = static_cast<std::int8_t>(q & 15), to.code[2 * j + 1] = static_cast<std::int8_t>(q >> 4);
  }
}
template <int Terms>
void read_fp8(const std::byte* b, checkpoint::ggml_block& to) {
  to.scale[0] = checkpoint::detail::ggml_bits<float>(b);
  std::memcpy(to.code, b + 4, Terms);
}
inline constexpr auto mxfp4_pairs = checkpoint::detail::float_format<read_mxfp4_pairs, 32, 4>(0, "mxfp4", 17);
template <int Terms>
inline constexpr auto fp8_terms = checkpoint::detail::float_format<read_fp8<Terms>, Terms, 8>(0, "fp8", Terms + 4);

/// Matrices of codes. `row` writes the blocks of the terms of one output.
struct coded_tensor {
  tokamax::shape shape;  // without codes: [outputs, terms], or [matrices, terms, outputs]
  std::int64_t matrices = 1, outputs = 0, terms = 0;
  const checkpoint::ggml_format* format = nullptr;
  std::function<void(std::int64_t matrix, std::int64_t output, std::byte* to)> row = {};

  std::vector<std::byte> room() const {
    return std::vector<std::byte>(static_cast<std::size_t>(terms / format->elements * format->bytes));
  }
  array read(dtype as) const {
    array result = array::uninitialized({f32, false, {matrices, outputs, terms}});
    std::vector<std::byte> blocks = room();
    for (std::int64_t i = 0; i < matrices * outputs; ++i) {
      row(i / outputs, i % outputs, blocks.data());
      for (std::int64_t b = 0; b < terms / format->elements; ++b)
        format->read(blocks.data() + b * format->bytes,
                     result.mutable_data<float>() + i * terms + b * format->elements);
    }
    return reshape(shape.rank() == 3 ? transpose(astype(result, as), {0, 2, 1}) : astype(result, as), shape);
  }
  packed_weights read_packed(std::span<const std::int64_t> rows) const {
    panel_codes panels(*format, terms, std::ssize(rows), matrices);
    std::vector<std::byte> blocks = room();
    for (std::int64_t m = 0; m < matrices; ++m)
      for (std::size_t i = 0; i < rows.size(); ++i) {
        row(m, rows[i], blocks.data());
        panels.put(m * std::ssize(rows) + static_cast<std::int64_t>(i), blocks.data());
      }
    return std::move(panels).finish();
  }
};

/// Opens the tensors of one folder, and says what does not fit.
class coded_folder {
 public:
  coded_folder(const std::filesystem::path& path, const checkpoint::json_record& config)
      : folder_(path), where_(path.string()), how_(config.record("quantization_config")) {}

  tensor_source source() && {
    const auto method = how_.get<std::string>("quant_method", "no name");
    if (method != "fp8" && method != "mxfp4")
      how_.refuse("quant_method", method, "fp8, mxfp4 or no quantization_config");
    const std::string codes = method == "fp8" ? "" : "_blocks", scales = method == "fp8" ? "_scale_inv" : "_scales";
    auto coded = std::make_shared<std::map<std::string, coded_tensor>>();
    std::map<std::string, shape> shapes;
    for (const auto& [name, stored] : folder_.arrays()) {
      if (!name.ends_with(scales)) continue;
      const std::string of = name.substr(0, name.size() - scales.size());
      coded->emplace(of, method == "fp8" ? fp8(of, name) : mxfp4(of + codes, name));
    }
    for (const auto& [name, stored] : folder_.arrays()) {
      const bool part =
          name.ends_with(scales) || name.ends_with(".activation_scale") ||
          (!codes.empty() && name.ends_with(codes) && coded->contains(name.substr(0, name.size() - codes.size())));
      if (part || coded->contains(name)) continue;
      if (!is_floating(stored.type.dtype) || bits_of(stored.type.dtype) == 8) refuse(name, stored.text, "floats");
      shapes.emplace(name, stored.type.shape);
    }
    for (const auto& [name, t] : *coded) shapes.emplace(name, t.shape);
    const auto folder = std::make_shared<const checkpoint::safetensors_folder>(std::move(folder_));
    return {.shapes = std::move(shapes),
            .read =
                [folder, coded](const std::string& name, dtype as) {
                  const auto found = coded->find(name);
                  return found == coded->end() ? astype(folder->map(name), as) : found->second.read(as);
                },
            .has_codes =
                [coded](const std::string& name) {
                  const auto found = coded->find(name);
                  return found != coded->end() && found->second.format->elements % 8 == 0;
                },
            .read_packed = [coded](const std::string& name,
                                   std::span<const std::int64_t> rows) { return coded->at(name).read_packed(rows); },
            .where = where_};
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& found, const std::string& expected) const {
    throw error(error_kind::file, "model: tensor " + name, found, expected, where_);
  }
  /// A tensor of this dtype and rank, where it lies in the file.
  array tensor(const std::string& name, dtype type, int rank) const {
    const auto found = folder_.arrays().find(name);
    const std::string expected = std::string(tokamax::name(type)) + " of " + std::to_string(rank) + " axes";
    if (found == folder_.arrays().end()) refuse(name, "nothing", expected);
    if (found->second.type.dtype != type || found->second.type.shape.rank() != rank)
      refuse(name, found->second.text, expected);
    return folder_.map(name);
  }
  // Blocks u8 [matrices, outputs, terms / 32, 16], and their scales.
  coded_tensor mxfp4(const std::string& codes_name, const std::string& scales_name) const {
    const array codes = tensor(codes_name, u8, 4), scales = tensor(scales_name, u8, 3);
    const shape s = codes.shape();
    if (s[3] != 16 || !(scales.shape() == shape{s[0], s[1], s[2]}))
      refuse(codes_name, std::string((message() << s).view()), "[E, N, K / 32, 16] beside scales [E, N, K / 32]");
    coded_tensor t{.shape = {s[0], s[2] * 32, s[1]}, .matrices = s[0], .outputs = s[1], .terms = s[2] * 32};
    t.format = &mxfp4_pairs;
    t.row = [codes, scales, n = s[1], groups = s[2]](std::int64_t matrix, std::int64_t output, std::byte* to) {
      for (std::int64_t g = (matrix * n + output) * groups, end = g + groups; g < end; ++g, to += 17) {
        *to = scales.bytes()[g];
        std::memcpy(to + 1, codes.bytes() + g * 16, 16);
      }
    };
    return t;
  }
  // Codes [outputs, terms], whose blocks of outputs and terms have scales.
  coded_tensor fp8(const std::string& of, const std::string& scales_name) const {
    const array codes = tensor(of, f8e4m3fn, 2), scales = tensor(scales_name, f32, 2);
    const auto block = how_.get<std::vector<std::int64_t>>("weight_block_size", {128, 128});
    if (block.size() != 2 || block[0] < 1 || block[1] < 1)
      how_.refuse("weight_block_size", std::to_string(block.size()) + " numbers", "two positive ones");
    const std::int64_t n = codes.extent(0), k = codes.extent(1), width = block[1], height = block[0];
    const auto parts = [](std::int64_t all, std::int64_t each) { return all / each + (all % each != 0 ? 1 : 0); };
    const shape expected{parts(n, height), parts(k, width)};
    if (!(scales.shape() == expected))
      refuse(scales_name, std::string((message() << scales.shape()).view()),
             std::string((message() << expected).view()));
    coded_tensor t{.shape = {n, k}, .outputs = n, .terms = k};
    const auto fits = [&](std::int64_t terms) { return k % terms == 0 && width % terms == 0; };
    t.format = fits(128) ? &fp8_terms<128> : fits(32) ? &fp8_terms<32> : fits(8) ? &fp8_terms<8> : &fp8_terms<1>;
    t.row = [codes, scales, k, width, height, each = t.format->elements](std::int64_t, std::int64_t output,
                                                                         std::byte* to) {
      const float* const of_row = scales.data<float>() + output / height * scales.extent(1);
      for (std::int64_t at = 0; at < k; at += each, to += each + 4) {
        std::memcpy(to, of_row + at / width, 4);
        std::memcpy(to + 4, codes.bytes() + output * k + at, static_cast<std::size_t>(each));
      }
    };
    return t;
  }

  checkpoint::safetensors_folder folder_;
  std::string where_;
  checkpoint::json_record how_;
};

}  // namespace detail

/// The tensors of a folder whose config.json has a `quantization_config` of the methods fp8 (blocks of E4M3, `weight_scale_inv`) or
/// mxfp4 (experts as `_blocks` and `_scales`). They are read as floats, or stay codes.
/// errors  tokamax::error of the kind `file`: another method; a tensor that is missing or does not fit its scales
/// source  transformers, integrations/finegrained_fp8.py and mxfp4.py
inline tensor_source tensors_of_quantized_folder(const std::filesystem::path& path,
                                                 const checkpoint::json_record& config) {
  return detail::coded_folder(path, config).source();
}

}  // namespace tokamax::models
