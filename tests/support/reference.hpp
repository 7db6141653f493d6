// tests/support/reference.hpp: the meaning of every op in double precision, by loops that are plain enough to trust.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/bind.hpp>

#include <functional>
#include <map>
#include <vector>

namespace tokamax::test {

/// An array whose elements are doubles, whatever its dtype.
struct value {
  array_type type;
  std::vector<double> data;
  std::int64_t extent(int axis) const { return type.shape[axis]; }
  int rank() const { return type.shape.rank(); }
};
using values = std::vector<value>;

/// A node that is to be evaluated: operands, attributes, result type, and the graph that holds its bodies.
struct asked {
  const node& n;
  const graph& g;
  const values& in;
  template <class Options>
  Options attrs() const {
    return unpack<Options>(g.words_of(n));
  }
};

/// The rules of leaf ops. A test of a new leaf op adds its own; elementwise ops have their element function, and every
/// other op its compose.
using reference_rule = std::function<values(const asked&)>;
std::map<const op*, reference_rule>& reference_rules();

/// The outputs of a graph for given inputs.
values evaluate(const graph& g, const values& inputs);

/// The rule of kernel_call.
values kernel_call_by_steps(const asked& a);

value zeros_of(const array_type& type);
value to_value(array a);
/// The array with these elements, rounded to its dtype.
array to_array(const value& v);
/// A number as an integer dtype stores it; for floating dtypes the number stays a double.
double wrap(double x, dtype t);
/// Calls f(index, linear position) for every place of an array of extents s.
void for_each_place(const shape& s, const std::function<void(const shape&, std::size_t)>& f);
/// Row-major position of an index.
std::size_t place(const shape& s, const shape& at);

}  // namespace tokamax::test
