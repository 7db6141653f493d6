// tests/optim/losses/losses.cpp: losses and their gradients are those of Optax.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/losses/classification.hpp>
#include <tokamax/optim/losses/divergence.hpp>
#include <tokamax/optim/losses/regression.hpp>

#include "support/catch.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;

case_functions losses() {
  case_functions table;
  const auto of_two = [&table](const char* name, auto f) {
    table[name] = [f](const arrays& x, options) -> arrays { return f(x[0], x[1]); };
  };
  of_two("squared_error", [](const array& x, const array& y) { return optim::squared_error(x, y); });
  of_two("l2_loss", [](const array& x, const array& y) { return optim::l2_loss(x, y); });
  of_two("log_cosh", [](const array& x, const array& y) { return optim::log_cosh(x, y); });
  of_two("cosine_distance", [](const array& x, const array& y) { return optim::cosine_distance(x, y); });
  of_two("sigmoid_binary_cross_entropy",
         [](const array& x, const array& y) { return optim::sigmoid_binary_cross_entropy(x, y); });
  of_two("softmax_cross_entropy",
         [](const array& x, const array& y) { return optim::softmax_cross_entropy_with_distribution(x, y); });
  of_two("kl_divergence", [](const array& x, const array& y) { return optim::kl_divergence(x, y); });
  of_two("generalized_kl_divergence",
         [](const array& x, const array& y) { return optim::generalized_kl_divergence(x, y); });
  of_two("kl_divergence_with_log_targets",
         [](const array& x, const array& y) { return optim::kl_divergence_with_log_targets(x, y); });
  of_two("multiclass_hinge_loss", [](const array& x, const array& y) { return optim::multiclass_hinge_loss(x, y); });
  of_two("multiclass_perceptron_loss",
         [](const array& x, const array& y) { return optim::multiclass_perceptron_loss(x, y); });
  of_two("hinge_loss", [](const array& x, const array& y) { return optim::hinge_loss(x, y); });
  of_two("perceptron_loss", [](const array& x, const array& y) { return optim::perceptron_loss(x, y); });
  of_two("sparsemax_loss", [](const array& x, const array& y) { return optim::sparsemax_loss(x, y); });
  table["huber_loss"] = [](const arrays& x, options o) -> arrays {
    return optim::huber_loss(x[0], x[1], o.number("delta", 1));
  };
  table["cosine_similarity"] = [](const arrays& x, options o) -> arrays {
    return optim::cosine_similarity(x[0], x[1], o.number("epsilon", 0), o.axis(-1));
  };
  table["poly_loss_cross_entropy"] = [](const arrays& x, options o) -> arrays {
    return optim::poly_loss_cross_entropy(x[0], x[1], o.number("epsilon", 2));
  };
  table["sigmoid_focal_loss"] = [](const arrays& x, options o) -> arrays {
    return optim::sigmoid_focal_loss(x[0], x[1], {o.number("alpha", -1), o.number("gamma", 2)});
  };
  table["smooth_labels"] = [](const arrays& x, options o) -> arrays {
    return optim::smooth_labels(x[0], o.number("alpha", 0));
  };
  table["triplet_margin_loss"] = [](const arrays& x, options o) -> arrays {
    return optim::triplet_margin_loss(x[0], x[1], x[2], o.axis(-1), o.number("margin", 1));
  };
  return table;
}
}  // namespace

TEST_CASE("losses and their gradients are those of Optax") { check_cases("optim/losses.txt", losses()); }
