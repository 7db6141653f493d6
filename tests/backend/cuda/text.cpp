// tests/backend/cuda/text.cpp: all device text compiles for all architectures, where NVRTC is found. No GPU is needed.
#include <tokamax/backend/cuda.hpp>
#include <tokamax/backend/cuda/driver/nvrtc.hpp>
#include <tokamax/backend/cuda/loops.hpp>
#include <tokamax/backend/cuda/text/condition.hpp>
#include <tokamax/backend/cuda/text/conv.hpp>
#include <tokamax/backend/cuda/text/copy.hpp>
#include <tokamax/backend/cuda/text/index.hpp>
#include <tokamax/backend/cuda/text/numbers.hpp>
#include <tokamax/backend/cuda/text/products.hpp>
#include <tokamax/backend/cuda/text/reduce.hpp>
#include <tokamax/backend/cuda/text/rotary.hpp>
#include <tokamax/backend/cuda/text/rows.hpp>
#include <tokamax/backend/cuda/text/scatter.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/every_loop.hpp"

namespace tk = tokamax;
using namespace tk::cuda_backend;

namespace {

// All dtypes compile for one architecture, and a few of them for the others, because this takes a second for each. For the
// same reason the operands of an op change from one op to the next, and the op of a reduction from one dtype to the next.
constexpr tk::dtype some_dtypes[] = {tk::bool_, tk::i8, tk::bf16};
constexpr tk::dtype every_dtype[] = {tk::bool_,  tk::i4,  tk::i8,   tk::i16, tk::i32, tk::i64,
                                     tk::u4,     tk::u8,  tk::u16,  tk::u32, tk::u64, tk::f8e4m3fn,
                                     tk::f8e5m2, tk::f16, tk::bf16, tk::f32, tk::f64};

/// Is there a compiler of device text? If not, the test says so and is skipped.
bool found_nvrtc() {
  if (nvrtc::loaded().missing().empty()) return true;
  WARN("skipped: " << nvrtc::loaded().missing());
  return false;
}
void check_compiles(const std::string& text, const char* architecture) {
  INFO(architecture);
  try {
    CHECK(!compiled(text, architecture).empty());
  } catch (const tk::error& e) {
    FAIL_CHECK(std::string(e.what()).substr(0, 4000));
  }
}

/// Kernels of one text, each an instance of a template, as launch_template makes them.
class kernel_texts {
 public:
  explicit kernel_texts(std::initializer_list<std::string_view> texts) : text_(joined({tk::cuda_text::numbers})) {
    for (const std::string_view t : texts) text_ += t;
  }
  void add(std::string_view name, std::string_view data, std::initializer_list<std::string_view> types) {
    std::string list;
    for (const std::string_view t : types) list.append(list.empty() ? "" : ", ").append(t);
    text_ += joined({"KERNEL(kernel_", std::to_string(++count_), ", ", data, ") { ", name, "<", list, ">(d); }\n"});
  }
  std::string text() const { return text_ + std::string(tk::cuda_text::numbers_end); }

 private:
  std::string text_;
  int count_ = 0;
};

void check_loops(tk::dtype t, const char* architecture) {
  CAPTURE(tk::name(t));
  const tk::graph g = tk::test::every_loop_of(
      t, {tk::bool_, tk::i4, tk::i16, tk::i64, tk::u8, tk::u64, tk::f16, tk::f8e4m3fn, tk::bf16, tk::f32, tk::f64}, 1);
  const auto p = tk::detail::owned_program::make(g, tk::kernel_table_of<tk::cuda_tag>());
  const program_code code(view(p->tables));
  check_compiles(code.text_of(code.expected()), architecture);
}

template <class Dtypes>
void check_kernels(const Dtypes& dtypes, const char* architecture) {
  namespace text = tk::cuda_text;
  kernel_texts all(
      {text::reduce, text::products, text::copy, text::index, text::scatter, text::rows, text::conv, text::rotary});
  constexpr const char* combiners[] = {"op_add", "op_max", "op_min"};
  int next = 0;
  for (const tk::dtype t : dtypes) {
    const std::string_view n = tk::name(t);
    const bool all_of_them = t == tk::f32 && std::string_view(architecture) == "sm_90a";
    for (int k = 0; k < (all_of_them ? 3 : 1); ++k) {
      all.add("reduce_rows", "reduce_data", {combiners[(next + k) % 3], n, n});
      all.add("reduce_columns", "reduce_data", {combiners[(next + k + 1) % 3], n, n});
      all.add("reduce_lanes", "lanes_data",
              {combiners[(next + k) % 3], n, n, std::to_string(std::min(8, 16 / tk::size_of(t)))});
    }
    ++next;
    const std::string_view sum = tk::is_floating(t) && t != tk::f64 ? "f32" : n;
    if (t != tk::bool_) all.add("products", "product_data", {n, n, sum});
    if (tk::is_floating(t)) all.add("add_terms", "terms_data", {n});
    all.add("convert_elements", "copy_data", {n, "f32"});
    all.add("convert_elements", "copy_data", {"f32", n});
    if (t != tk::bool_)
      for (const char* name : {"add_pieces", "join_pieces"})
        all.add(name, "scatter_data", {n, std::to_string(16 / tk::size_of(t))});
    for (const char* name : {"argmax", "argmin", "sorted_places"}) all.add(name, "row_data", {n});
    if (t != tk::bool_) all.add("cumsum", "row_data", {n});
    all.add("search", "search_data", {n});
    if (tk::is_floating(t)) all.add("convolution", "conv_data", {n});
  }
  for (const char* from : {"i32", "i64", "update"})
    for (const char* name : {"count_digits", "move_by_digit"}) all.add(name, "digit_data", {from});
  for (const char* n : {"f32", "bf16", "f64"}) all.add("rotary_embedding", "rotary_data", {n});
  all.add("compare_words", "compare_data", {"u16"});
  for (const char* word : {"u8", "u16", "u32", "u64"}) {
    all.add("copy_elements", "copy_data", {word});
    all.add("fill_elements", "fill_data", {word});
    all.add("move_to_places", "move_data", {word});
    for (const char* index : {"i32", "i64"}) {
      all.add("gather", "gather_data", {word, word, index});
      all.add("gather", "gather_data", {"wide_word", word, index});
    }
    all.add("copy_box", "box_data", {word});
  }
  check_compiles(all.text(), architecture);
  check_compiles(joined({text::numbers, text::condition, text::numbers_end}), architecture);
}

}  // namespace

TEST_CASE("loops of every op compile as device text") {
  if (!found_nvrtc()) return;
  for (const tk::dtype t : every_dtype) check_loops(t, "sm_90a");
  for (const char* architecture : {"sm_80", "sm_100a"})
    for (const tk::dtype t : some_dtypes) check_loops(t, architecture);
}

TEST_CASE("kernels compile as device text for every dtype") {
  if (!found_nvrtc()) return;
  check_kernels(every_dtype, "sm_90a");
  for (const char* architecture : {"sm_80", "sm_100a"}) check_kernels(some_dtypes, architecture);
}
