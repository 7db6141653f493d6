// tests/optim/losses/losses.cpp: losses and their gradients are those of Optax.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/losses/classification.hpp>
#include <tokamax/optim/losses/ctc.hpp>
#include <tokamax/optim/losses/divergence.hpp>
#include <tokamax/optim/losses/ranking.hpp>
#include <tokamax/optim/losses/regression.hpp>
#include <tokamax/optim/losses/segmentation.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"
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
  of_two("safe_softmax_cross_entropy",
         [](const array& x, const array& y) { return optim::safe_softmax_cross_entropy(x, y); });
  of_two("multiclass_sparsemax_loss",
         [](const array& x, const array& y) { return optim::multiclass_sparsemax_loss(x, y); });
  of_two("multiclass_generalized_dice_loss",
         [](const array& x, const array& y) { return optim::multiclass_generalized_dice_loss(x, y); });
  const auto reduced = [](options o, const char* name) {
    const std::string how = o.text(name, "mean");
    return how == "none" ? optim::reduction::none : how == "sum" ? optim::reduction::sum : optim::reduction::mean;
  };
  table["ntxent"] = [](const arrays& x, options o) -> arrays {
    return optim::ntxent(x[0], x[1], o.number("temperature", 0.07));
  };
  table["ranking_softmax_loss"] = [reduced](const arrays& x, options o) -> arrays {
    optim::ranking_options r{.reduce = reduced(o, "reduce")};
    if (o.flag("masked")) r.where = x[2];
    if (x.count() > 2 + o.flag("masked")) r.weights = x[x.count() - 1];
    return optim::ranking_softmax_loss(x[0], x[1], r);
  };
  table["dice_loss"] = [reduced](const arrays& x, options o) -> arrays {
    return optim::dice_loss(x[0], x[1],
                            {.smooth = o.number("smooth", 1),
                             .alpha = o.number("alpha", 0.5),
                             .beta = o.number("beta", 0.5),
                             .reduce = reduced(o, "reduction"),
                             .ignore_background = o.flag("ignore_background")});
  };
  table["binary_dice_loss"] = [](const arrays& x, options o) -> arrays {
    return optim::binary_dice_loss(x[0], x[1], o.number("smooth", 1));
  };
  table["ctc_loss"] = [](const arrays& x, options o) -> arrays {
    return optim::ctc_loss(x[0], x[1], x[2], x[3], {.blank_id = static_cast<int>(o.integer("blank_id", 0))});
  };
  return table;
}
}  // namespace

TEST_CASE("losses and their gradients are those of Optax") { check_cases("optim/losses.txt", losses()); }

TEST_CASE("the loss of one alignment is that of its steps, and repeats need a blank") {
  const array logits = array::from<float>({2, 0.5f, -1, 0, 3, 1, 1, 0, 2}, {1, 3, 3}), none = zeros({1, 3});
  const array logs = log_softmax(logits);
  const auto at = [&](int time, int label) {
    return static_cast<double>(logs.values<float>()[static_cast<std::size_t>(3 * time + label)]);
  };
  const array three = array::from<std::int32_t>({1, 2, 1}, {1, 3}), twice = array::from<std::int32_t>({1, 1}, {1, 2});
  CHECK(optim::ctc_loss(logits, none, three, zeros({1, 3})).values<float>()[0] ==
        Approx(-(at(0, 1) + at(1, 2) + at(2, 1))));
  const auto all = optim::ctc_loss_with_forward_probs(logits, none, twice, zeros({1, 2}));
  CHECK(all.loss.values<float>()[0] == Approx(-(at(0, 1) + at(1, 0) + at(2, 1))));
  CHECK(all.blanks.shape() == shape{3, 1, 3});
  CHECK(all.emissions.shape() == shape{3, 1, 2});
  CHECK_THROWS_WITH(optim::ctc_loss(ones({2, 3}), none, three, none), contains("ctc_loss: logits: found f32[2,3]"));
  CHECK_THROWS_WITH(optim::ctc_loss(logits, none, ones({2, 3}, i32), none), contains("ctc_loss: labels"));
  CHECK_THROWS_WITH(optim::ntxent(ones({3, 2}), ones({2}, i32)), contains("ntxent: labels"));
}

TEST_CASE("a loss of Fenchel and Young with log-sum-exp is cross entropy of distributions, less their entropy") {
  const array scores = array::from<float>({1, 2, -1, 0, 0.5f, 3}, {2, 3});
  const array targets = array::from<float>({0, 1, 0, 0, 0, 1}, {2, 3});
  const auto loss = optim::make_fenchel_young_loss([](const array& s) { return logsumexp(s, {.axis = {-1}}); });
  CHECK(distance(loss(scores, targets), optim::softmax_cross_entropy_with_distribution(scores, targets)) < 1e-5);
}
