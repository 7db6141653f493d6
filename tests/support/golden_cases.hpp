// tests/support/golden_cases.hpp: tables of cases that JAX computed, run as programs that are traced at run time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/reduce.hpp>  // reduce_options

#include "support/functions.hpp"

#include <functional>  // function
#include <map>         // map
#include <string>      // string
#include <vector>      // vector

namespace tokamax::test {

/// The attributes of a case, as "axis=1 keepdims=1".
class case_options {
 public:
  std::map<std::string, std::string> texts;

  bool has(const std::string& name) const { return texts.count(name) != 0; }
  std::string text(const std::string& name, const std::string& otherwise = {}) const;
  std::int64_t integer(const std::string& name, std::int64_t otherwise = 0) const;
  double number(const std::string& name, double otherwise = 0) const;
  bool flag(const std::string& name, bool otherwise = false) const { return integer(name, otherwise) != 0; }
  shape list(const std::string& name) const;  ///< of "0,2"; empty without the attribute
  dtype type(const std::string& name, dtype otherwise = dtype::none) const;
  int axis(int otherwise) const { return static_cast<int>(integer("axis", otherwise)); }
  /// axis=0 or axis=0,2 or none, and keepdims.
  reduce_options reduction() const;
};

/// What a row's first word names: a function of the row's arrays and attributes.
using case_function = std::function<arrays(const arrays&, const case_options&)>;
using case_functions = std::map<std::string, case_function>;

/// Runs all rows of tests/golden/`file`, a table that a script made with JAX (tests/golden/golden_cases.py has the format):
///   the function gives the expected arrays, eagerly and in a program that is traced at run time, with the same bits;
///   vmap of it over a batch of two gives what it gives for each;
///   where the row has gradients, vjp gives them, and jvp is its adjoint;
///   where JAX refuses the arguments, so does the function.
/// A row whose function is not in `functions` is a failure.
void check_cases(const std::string& file, const case_functions& functions);

}  // namespace tokamax::test
