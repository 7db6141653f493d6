// examples/cookbook/service.hpp: a model behind a class. Files that use it compile no program and read no layers.
#pragma once

#include <tokamax/core/array.hpp>
#include <tokamax/runtime/compiled.hpp>

class service {
 public:
  explicit service(int seed);
  tokamax::array answer(const tokamax::array& x) const { return answer_(x); }  // [n, 2] -> [n, 3]

 private:
  tokamax::compiled<tokamax::array(const tokamax::array&)> answer_;
};
