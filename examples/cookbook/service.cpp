// examples/cookbook/service.cpp: what is behind the class of service.hpp.
#include "service.hpp"

#include <tokamax/tokamax.hpp>

namespace tk = tokamax;

service::service(int seed) {
  const auto model = tk::init<tk::nn::linear>(tk::nn::linear{2, 3}, tk::random::key(seed));
  const auto forward = tk::jit([](const tk::nn::linear& m, const tk::array& x) { return tk::softmax(m(x)); }, tk::cpu);
  answer_ = [model, forward](const tk::array& x) { return forward(model, tk::symbolic(x)); };
}
