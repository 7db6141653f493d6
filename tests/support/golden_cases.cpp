// tests/support/golden_cases.cpp: reads tables of cases and runs them.
// SPDX-License-Identifier: Apache-2.0
#include "support/golden_cases.hpp"

#include <tokamax/backend/cpu.hpp>
#include <tokamax/runtime/jit.hpp>

#include "support/catch.hpp"
#include "support/device.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tokamax::test {

std::string case_options::text(const std::string& name, const std::string& otherwise) const {
  const auto found = texts.find(name);
  return found == texts.end() ? otherwise : found->second;
}
std::int64_t case_options::integer(const std::string& name, std::int64_t otherwise) const {
  return has(name) ? std::stoll(text(name)) : otherwise;
}
double case_options::number(const std::string& name, double otherwise) const {
  return has(name) ? std::stod(text(name)) : otherwise;
}
shape case_options::list(const std::string& name) const {
  shape s;
  std::istringstream in(text(name));
  for (std::string word; std::getline(in, word, ',');) s.push_back(std::stoll(word));
  return s;
}
namespace {
/// One NaN in place of all others. Which operand's NaN a sum of two is, IEEE 754 leaves open, and compilers use that.
std::vector<array> with_one_nan(std::vector<array> list) {
  for (array& x : list)
    if (is_floating(x.dtype())) x = select(x != x, full(x.shape(), std::nan(""), x.dtype()), x);
  return list;
}
dtype dtype_named(const std::string& text) {
  for (int i = 1; i < dtype_count; ++i)
    if (text == name(static_cast<dtype>(i))) return static_cast<dtype>(i);
  throw error("golden cases: dtype", text, "the name of a dtype");
}
}  // namespace
dtype case_options::type(const std::string& name, dtype otherwise) const {
  return has(name) ? dtype_named(text(name)) : otherwise;
}
reduce_options case_options::reduction() const {
  reduce_options o;
  if (has("axis")) o.axis = list("axis");
  o.keepdims = flag("keepdims");
  return o;
}

namespace {

/// A row of a table.
struct golden_case {
  std::string line, function;
  case_options options;
  std::vector<array> inputs, outputs;
  std::map<std::size_t, array> gradients;  ///< by the number of the input
  bool refused = false;
};

/// Reads the words of a table.
class table {
 public:
  explicit table(const std::string& file) : in_(TOKAMAX_ROOT "/tests/golden/" + file) {
    if (!in_) throw error("golden cases", file, "a file of tests/golden");
  }
  bool next(golden_case& c) {
    for (std::string line; std::getline(in_, line);) {
      if (line.empty() || line[0] == '#') continue;
      words_ = std::istringstream(line);
      std::string word = take();
      if (word == "let") {
        word = take();
        named_[word] = array_at(take());
        continue;
      }
      c = {line.substr(0, 120), word, {}, {}, {}, {}, false};
      read(c);
      return true;
    }
    return false;
  }

 private:
  std::string take() {
    std::string word;
    words_ >> word;
    return word;
  }
  /// NAME attribute=value ... : input , input -> output , output ; 0 gradient ; 2 gradient
  void read(golden_case& c) {
    std::string word;
    for (word = take(); word != ":"; word = take()) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) throw error("golden cases: attribute", word, "name=value", c.line);
      c.options.texts[word.substr(0, equals)] = word.substr(equals + 1);
    }
    while (end_ != "->") {
      word = take();
      if (word == "->") break;
      c.inputs.push_back(array_at(word));
    }
    end_ = {};
    while (words_ && end_ != ";") {
      word = take();
      if (word.empty()) break;
      if (word == "error")
        c.refused = true;
      else
        c.outputs.push_back(array_at(word));
    }
    while (words_) {
      word = take();
      if (word.empty()) break;
      const auto k = static_cast<std::size_t>(std::stoi(word));
      c.gradients[k] = elements({c.inputs.at(k).dtype(), false, c.inputs.at(k).shape()});
    }
    end_ = {};
  }
  /// An array, of which `head` is the first word: a name, "int" or "float" for a literal, or "f32[2,3]".
  array array_at(const std::string& head) {
    const std::size_t bracket = head.find('[');
    if (bracket != std::string::npos) {
      case_options extents;
      extents.texts["s"] = head.substr(bracket + 1, head.size() - bracket - 2);
      return elements({dtype_named(head.substr(0, bracket)), false, extents.list("s")});
    }
    array a;
    if (head == "int")
      a = array(std::stoi(take()));
    else if (head == "float")
      a = array(std::stod(take()));
    else if (named_.count(head))
      a = named_[head];
    else
      throw error("golden cases: array", head, "a name, int, float or dtype[extents]");
    end_ = take();
    return a;
  }
  /// The elements up to the next separator; "v*n" is v n times.
  array elements(const array_type& type) {
    array a = array::uninitialized(type);
    std::int64_t at = 0;
    std::string word;
    for (word = take(); !word.empty() && word != "," && word != "->" && word != ";"; word = take()) {
      const std::size_t star = word.find('*');
      const std::int64_t times = star == std::string::npos ? 1 : std::stoll(word.substr(star + 1));
      const std::string number = word.substr(0, star);
      if (at + times > a.size()) throw error("golden cases: elements", "too many", std::to_string(a.size()));
      dispatch(type.dtype, [&]<dtype T>() {
        using E = element_t<T>;
        E value{};
        if constexpr (is_floating(T))
          value = static_cast<E>(std::strtod(number.c_str(), nullptr));
        else if constexpr (T == u64)
          value = std::stoull(number);
        else
          value = static_cast<E>(std::stoll(number));
        for (std::int64_t k = 0; k < times; ++k) a.mutable_data<E>()[at++] = value;
      });
    }
    if (at != a.size()) throw error("golden cases: elements", std::to_string(at), std::to_string(a.size()));
    end_ = word;
    return a;
  }

  std::ifstream in_;
  std::istringstream words_;
  std::map<std::string, array> named_;
  std::string end_;  ///< the separator behind the array that was read last
};

/// How far values (gradients) may be from JAX's, absolute and relative, as in JAX's own tests.
double tolerance_of(dtype t, bool gradient) {
  switch (t) {
    case f8e4m3fn:
    case f8e5m2:
      return 1e-1;
    case bf16:
      return gradient ? 1e-1 : 1e-2;
    case f16:
      return gradient ? 1e-2 : 1e-3;
    case f32:
      return gradient ? 2e-3 : 1e-6;
    case f64:
      return gradient ? 1e-5 : 1e-15;
    default:
      return 0;
  }
}

/// Where two arrays differ; empty if they do not.
std::string apart(const array& found, const array& expected, double tolerance) {
  std::ostringstream s;
  if (!(found.type() == expected.type())) {
    s << message(found.type()).view() << ", expected " << message(expected.type()).view();
    return s.str();
  }
  if (!is_floating(expected.dtype())) {
    array a = found;
    a.materialize();
    const auto bytes = static_cast<std::size_t>(a.size() * size_of(a.dtype()));
    if (bytes == 0 || std::memcmp(a.bytes(), expected.bytes(), bytes) == 0) return {};
  }
  const value a = to_value(found), e = to_value(expected);
  for (std::size_t i = 0; i < e.data.size(); ++i) {
    const double x = a.data[i], y = e.data[i];
    if (std::isnan(y) ? std::isnan(x) : x == y || std::fabs(x - y) <= tolerance + tolerance * std::fabs(y)) continue;
    s << "element " << i << " is " << x << ", expected " << y;
    break;
  }
  return s.str();
}
/// Numbers that both sides know: multiples of 1/4, which every floating dtype has.
array pattern(const array_type& t, int step, int start, int modulus) {
  array a = array::uninitialized({f32, false, t.shape});
  for (std::int64_t i = 0; i < a.size(); ++i)
    a.mutable_data<float>()[i] = static_cast<float>((step * i + start) % modulus - modulus / 2) / 4;
  return astype(a, t.dtype);
}

/// Runs one row.
class case_run {
 public:
  case_run(const golden_case& c, const case_function& f) : c_(c), f_(f) {
    for (std::size_t k = 0; k < c.inputs.size(); ++k)
      if (!c.inputs[k].is_literal()) given_.push_back(c.inputs[k]), place_.push_back(k);
  }
  void check() const {
    if (c_.refused) {
      CHECK_THROWS_AS(f_(listed(c_.inputs), c_.options), error);
      return;
    }
    const arrays eager = call(put_here(listed(given_)));
    check_results("eagerly", eager, 0);
    if (given_.empty() || !c_.options.flag("traced", true)) return;
    const auto compiled =
        jit([this](const std::vector<array>& x) { return listed(call(listed(x))); }, here, at_run_time);
    const std::vector<array> traced = compiled(given_);
    check_results("traced", listed(traced), 0);
    // A GPU's products depend on how their operands lie, and its conversions change a NaN: there two runs have equal bits.
    if (!here.runs_host_kernels())
      CHECK(bit_difference(compiled(given_), traced) == "");
    else if (c_.options.flag("bits", true))
      CHECK(bit_difference(with_one_nan(traced), with_one_nan(listed(eager))) == "");
    if (c_.options.flag("vmap", true)) check_batch();
    if (!c_.gradients.empty()) check_gradients();
  }

 private:
  arrays call(const arrays& given) const {
    arrays x = listed(c_.inputs);
    for (std::size_t k = 0; k < place_.size(); ++k) x[static_cast<int>(place_[k])] = given[static_cast<int>(k)];
    return f_(x, c_.options);
  }
  double tolerance(dtype t, bool gradient) const {
    return c_.options.number(gradient ? "gtol" : "tol", tolerance_of(t, gradient));
  }
  void check_results(const char* how, const arrays& found, int) const {
    INFO(how);
    REQUIRE(static_cast<std::size_t>(found.count()) == c_.outputs.size());
    for (std::size_t k = 0; k < c_.outputs.size(); ++k) {
      INFO("result " << k);
      CHECK(apart(found[static_cast<int>(k)], c_.outputs[k], tolerance(c_.outputs[k].dtype(), false)) == "");
    }
  }
  /// The second entry of the batch has the elements of the first in reverse order.
  void check_batch() const {
    std::vector<array> whole, other;
    for (const array& x : given_) {
      array back = array::uninitialized({x.dtype(), false, x.shape()});
      const auto width = static_cast<std::size_t>(size_of(x.dtype()));
      for (std::int64_t i = 0; i < x.size(); ++i)
        std::memcpy(back.mutable_bytes() + static_cast<std::size_t>(i) * width,
                    x.bytes() + static_cast<std::size_t>(x.size() - 1 - i) * width, width);
      other.push_back(back);
      whole.push_back(joined(x, back));
    }
    const function f = [this](const arrays& x) { return call(x); };
    const unsigned all = (1u << given_.size()) - 1;
    const arrays batches = execute_graph(trace(vmap_of(f, 2, all), types_of(whole)), put_here(listed(whole)));
    const arrays first = call(put_here(listed(given_))), second = call(put_here(listed(other)));
    for (int k = 0; k < first.count(); ++k) {
      INFO("result " << k << " of vmap");
      array a = first[k], b = second[k];
      CHECK(apart(batches[k], joined(a, b), tolerance(a.dtype(), false)) == "");
    }
  }
  static array joined(array a, array b) {
    a.materialize();
    b.materialize();
    array_type t{a.dtype(), false, {2}};
    for (std::int64_t e : a.shape()) t.shape.push_back(e);
    array both = array::uninitialized(t);
    const auto bytes = static_cast<std::size_t>(a.size() * size_of(a.dtype()));
    if (bytes) {
      std::memcpy(both.mutable_bytes(), a.bytes(), bytes);
      std::memcpy(both.mutable_bytes() + bytes, b.bytes(), bytes);
    }
    return both;
  }
  /// Cotangents and tangents are patterns of numbers, which golden_cases.py makes in the same way.
  void check_gradients() const {
    const int n = static_cast<int>(given_.size());
    const function f = [this](const arrays& x) { return call(x); };
    std::vector<array> cts, tangents, pull = given_, push = given_;
    for (std::size_t k = 0; k < c_.outputs.size(); ++k)
      if (is_floating(c_.outputs[k].dtype()))
        cts.push_back(pattern(c_.outputs[k].type(), 7, 3 * static_cast<int>(k), 11));
    for (std::size_t k = 0; k < given_.size(); ++k)
      if (is_floating(given_[k].dtype())) tangents.push_back(pattern(given_[k].type(), 5, 2 * static_cast<int>(k), 7));
    pull.insert(pull.end(), cts.begin(), cts.end());
    push.insert(push.end(), tangents.begin(), tangents.end());
    const arrays gradients = execute_graph(trace(vjp_of(f, n), types_of(pull)), put_here(listed(pull)));
    double by_vjp = 0, by_jvp = 0, scale = 1;
    int j = 0;
    for (std::size_t k = 0; k < given_.size(); ++k) {
      if (!is_floating(given_[k].dtype())) continue;
      INFO("gradient of input " << place_[k]);
      const auto expected = c_.gradients.find(place_[k]);
      if (expected != c_.gradients.end())
        CHECK(apart(gradients[j], expected->second, tolerance(given_[k].dtype(), true)) == "");
      by_vjp += dot(gradients[j], tangents[static_cast<std::size_t>(j)], scale);
      ++j;
    }
    const arrays pushed = execute_graph(trace(jvp_of(f, n), types_of(push)), put_here(listed(push)));
    for (int k = 0; k < pushed.count(); ++k) by_jvp += dot(pushed[k], cts[static_cast<std::size_t>(k)], scale);
    if (!std::isfinite(by_vjp) || !std::isfinite(by_jvp)) return;  // their products with 0 are NaN on one side only
    INFO("<ct, jvp(t)> = <vjp(ct), t>");
    CHECK(std::fabs(by_vjp - by_jvp) <= tolerance(given_[0].dtype() == f64          ? f64
                                                  : bits_of(given_[0].dtype()) < 32 ? given_[0].dtype()
                                                                                    : f32,
                                                  true) *
                                            scale);
  }
  static double dot(const array& a, const array& b, double& scale) {
    const value x = to_value(a), y = to_value(b);
    double total = 0;
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      total += x.data[i] * y.data[i];
      scale += std::fabs(x.data[i] * y.data[i]);
    }
    return total;
  }

  const golden_case& c_;
  const case_function& f_;
  std::vector<array> given_;        ///< the inputs that are not literals
  std::vector<std::size_t> place_;  ///< their numbers
};

}  // namespace

void check_cases(const std::string& file, const case_functions& functions) {
  table rows(file);
  golden_case c;
  int count = 0;
  while (rows.next(c)) {
    INFO(file << ": " << c.line);
    const auto f = functions.find(c.function);
    if (f == functions.end()) {
      FAIL_CHECK("no function " << c.function);
      continue;
    }
    try {
      case_run(c, f->second).check();
    } catch (const error& e) {
      FAIL_CHECK(e.what());
    }
    ++count;
  }
  CHECK(count > 0);
}

}  // namespace tokamax::test
