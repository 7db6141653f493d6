// tokamax/backend/cuda/launch.hpp: what kernels need to launch device text: records of parameters, and texts by dtype.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/device.cpp
#pragma once

#include <tokamax/backend/cuda/run/instance.hpp>  // instance
#include <tokamax/backend/cuda/text/numbers.hpp>  // numbers
#include <tokamax/core/kernel_arguments.hpp>      // kernel_arguments

#include <concepts>          // integral
#include <initializer_list>  // texts

namespace tokamax::cuda_backend {

inline constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The GPU on which a kernel runs.
inline instance& instance_of(const kernel_arguments& a) { return static_cast<instance&>(a.context->where); }

/// The parameter of a kernel: fields of 8 bytes, in the order of the record in the device text.
class kernel_record {
 public:
  kernel_record& add(std::integral auto v) { return add_word(static_cast<std::int64_t>(v)); }
  kernel_record& add(const void* p) { return add_word(reinterpret_cast<std::int64_t>(p)); }
  /// An array of max_rank numbers, of which `s` has the first.
  kernel_record& add(const shape& s) {
    for (int i = 0; i < max_rank; ++i) add(i < s.rank() ? s[i] : 0);
    return *this;
  }
  const void* data() const { return words_; }
  static constexpr int most = 4095;  ///< words: the driver's limit, 32764 bytes

 private:
  kernel_record& add_word(std::int64_t v) {
    if (count_ == most)
      throw error(error_kind::resource, "cuda: parameters of a kernel", "more than 32 KiB", "a smaller loop");
    words_[count_++] = v;
    return *this;
  }
  int count_ = 0;
  std::int64_t words_[most];
};

inline std::string joined(std::initializer_list<std::string_view> texts) {
  std::string s;
  for (const std::string_view t : texts) s += t;
  return s;
}

/// One thread for each element.
inline constexpr unsigned block_threads = 256;

/// Launches `name<Types>(d)` of a text, instantiated for some types of the device text: "gather" for {"u32", "i32"} is the
/// kernel gather_u32_i32. `data` is the type of its record.
inline void launch_template(instance& gpu, std::string_view text, const char* name, const char* data,
                            std::initializer_list<std::string_view> types, std::int64_t blocks, const kernel_record& r,
                            unsigned threads = block_threads, std::int64_t rows = 1) {
  if (blocks <= 0 || rows <= 0) return;
  std::string id = name, list;
  for (const std::string_view t : types) {
    id.append("_").append(t);
    list.append(list.empty() ? "" : ", ").append(t);
  }
  const function_handle f = gpu.kernel_named(id, [&] {
    return joined({cuda_text::numbers, text, "KERNEL(", id, ", ", data, ") { ", name, "<", list, ">(d); }\n",
                   cuda_text::numbers_end});
  });
  gpu.launch(name, f, blocks, threads, r.data(), rows);
}

/// The unsigned integer of the size of an element, for kernels that only move elements.
inline std::string_view word_of(dtype t) {
  switch (size_of(t)) {
    case 1:
      return "u8";
    case 2:
      return "u16";
    case 4:
      return "u32";
    default:
      return "u64";
  }
}

}  // namespace tokamax::cuda_backend
