// tokamax/data.hpp: pipelines from a text to batches, read from any position.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (files and threads would take 0.3 s of the compile time of tokamax.hpp; include this header beside it)
//
// A pipeline is a value, made of stages joined with `|`:
//
//  auto data = text("input.txt") | windows(context + 1) | shuffle({.seed = 0}) | batch<example>(32) | prefetch(2);
//  for (auto reader = data.from(position); const auto& [step, batch] : reader) ...
//
// Each stage gives its elements by index, so every place can be read at once. `reader.position()` is the place after what
// was read: saved and handed to `from` again, it gives exactly the elements that would have followed.
//
//   data/batch.hpp         several elements stacked into the arrays of one record.
//   data/counter_hash.hpp  random bits as a pure function of a seed and a counter.
//   data/dataset.hpp       what every stage of a pipeline is: elements by index, read in order from a position.
//   data/map.hpp           a function applied to each element.
//   data/prefetch.hpp      elements made ahead of time by another thread.
//   data/shuffle.hpp       a random order of any number of elements, another one in each epoch, without a table.
//   data/text_split.hpp    the front of a text to train on, the rest to validate on.
//   data/tokens.hpp        a text as a sequence of byte-sized tokens, from a file or from memory.
//   data/vocabulary.hpp    the symbols of a text and their token numbers.
//   data/windows.hpp       pieces of a token sequence, all with the same length.
#pragma once

#include <tokamax/data/batch.hpp>
#include <tokamax/data/counter_hash.hpp>
#include <tokamax/data/dataset.hpp>
#include <tokamax/data/map.hpp>
#include <tokamax/data/prefetch.hpp>
#include <tokamax/data/shuffle.hpp>
#include <tokamax/data/text_split.hpp>
#include <tokamax/data/tokens.hpp>
#include <tokamax/data/vocabulary.hpp>
#include <tokamax/data/windows.hpp>
