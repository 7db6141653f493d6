// tokamax/optim/losses/ctc.hpp: the loss of sequences whose alignment is unknown.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/losses/losses.cpp
#pragma once

#include <tokamax/lax/elementwise/logaddexp.hpp>     // logaddexp
#include <tokamax/lax/indexing/slice.hpp>            // slice_in_dim
#include <tokamax/lax/iota.hpp>                      // one_hot
#include <tokamax/lax/shapes/concatenate.hpp>        // concatenate
#include <tokamax/lax/shapes/transpose.hpp>          // transpose
#include <tokamax/numpy/matmul.hpp>                  // matmul
#include <tokamax/ops/softmax.hpp>                   // log_softmax
#include <tokamax/transforms/control_flow/scan.hpp>  // scan

namespace tokamax::optim {

struct ctc_options {
  int blank_id = 0;
  double log_epsilon = -1e5;  ///< the logarithm of a probability of 0
};
/// The losses, and the logarithms of forward probabilities behind each time: of blanks and of labels.
struct ctc_result {
  array loss;       ///< [batch]
  array blanks;     ///< [time, batch, labels + 1]
  array emissions;  ///< [time, batch, labels]
};

/// Minus the logarithm of the probability of all alignments of a label sequence with the time steps: labels in order, each for
/// one or more steps, with blanks between them, and at least one between equal labels.
///
/// shapes  logits [batch, time, classes], logit_paddings [batch, time], labels integers [batch, labels], label_paddings like labels;
///         paddings are 1 behind the end of a sequence and 0 before
/// errors  "ctc_loss: logits" and "ctc_loss: labels" of other ranks or batches
/// source  optax.ctc_loss_with_forward_probs; Graves et al. 2006
constexpr ctc_result ctc_loss_with_forward_probs(const array& logits, const array& logit_paddings, const array& labels,
                                                 const array& label_paddings, const ctc_options& o = {},
                                                 source_line l = source_line::current()) {
  if (logits.rank() != 3) {
    reject(logits, l, "ctc_loss: logits", logits.type(), "[batch, time, classes]");
    return {logits, logits, logits};
  }
  if (labels.rank() != 2 || labels.extent(0) != logits.extent(0) || label_paddings.shape() != labels.shape()) {
    reject(logits, l, "ctc_loss: labels", labels.type(),
           message("[batch, labels] and paddings, for ") << logits.type());
    return {logits, logits, logits};
  }
  const std::int64_t batch = labels.extent(0), count = labels.extent(1), classes = logits.extent(2);
  const array logs = log_softmax(astype(logits, carrying(logits.dtype())), -1, l);
  const dtype type = logs.dtype();
  const auto part = [](const array& x, std::int64_t from, std::int64_t to) { return slice_in_dim(x, from, to, 1); };
  array repeat = zeros({batch, count}, type);  // is a label that of the next place?
  if (count > 0)
    repeat =
        concatenate({astype(part(labels, 0, count - 1) == part(labels, 1, count), type), zeros({batch, 1}, type)}, 1);
  const array blank = transpose(slice_in_dim(logs, o.blank_id, o.blank_id + 1, 2), {1, 0, 2});  // [T, B, 1]
  const array hot = one_hot(labels, classes, type);                                             // [B, N, K]
  const array label = transpose(matmul(logs, transpose(hot, {0, 2, 1})), {1, 0, 2});            // [T, B, N]
  const array padding = expand_dims(transpose(astype(logit_paddings, type), {1, 0}), 2);        // [T, B, 1]
  const auto advanced = [&](const array& phi, const array& score) {
    return concatenate({part(phi, 0, 1), logaddexp(part(phi, 1, count + 1), score)}, 1);
  };
  struct scores {
    array phi, label;
  };
  struct entry {
    array label, blank, padding;
  };
  const auto step = [&](const scores& s, const entry& x) {
    const array phi = advanced(s.phi, s.label + o.log_epsilon * repeat);
    const array next_label = logaddexp(part(phi, 0, count) + x.label, s.label + x.label);
    const array next_phi = advanced(phi + x.blank, s.label + x.blank + o.log_epsilon * (1.0 - repeat));
    const array rest = 1.0 - x.padding;
    const scores next{x.padding * s.phi + rest * next_phi, x.padding * s.label + rest * next_label};
    return std::pair{next, next};
  };
  const array far = full({batch, count}, o.log_epsilon, type);
  const scores start{concatenate({zeros({batch, 1}, type), far}, 1), far};
  const auto [last, all] = scan(step, start, entry{label, blank, padding}, {}, l);
  const array final_phi = advanced(last.phi, last.label);
  const array lengths = array(static_cast<double>(count)) - sum(astype(label_paddings, f32), {.axis = {1}});
  const array loss = -sum(final_phi * one_hot(astype(lengths, i32), count + 1, type), {.axis = {1}});
  const std::int64_t times = logits.extent(1);
  array phi = all.phi;
  if (times > 0) phi = concatenate({slice_in_dim(all.phi, 0, times - 1, 0), expand_dims(final_phi, 0)}, 0);
  return {loss, phi, all.label};
}

/// The losses alone: [batch].
/// source  optax.ctc_loss
constexpr array ctc_loss(const array& logits, const array& logit_paddings, const array& labels,
                         const array& label_paddings, const ctc_options& o = {},
                         source_line l = source_line::current()) {
  return ctc_loss_with_forward_probs(logits, logit_paddings, labels, label_paddings, o, l).loss;
}

}  // namespace tokamax::optim
