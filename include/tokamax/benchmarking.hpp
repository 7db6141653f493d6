// tokamax/benchmarking.hpp: all of benchmarking. A program includes it where it measures itself.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (it reads and writes JSON, as checkpoint does)
//
//   benchmarking/autotune.hpp              measures the implementations of all ops of a program, on the data of the program.
//   benchmarking/autotuning_file.hpp       results of autotuning as JSON and as files that several processes share.
//   benchmarking/autotuning_result.hpp     how fast the implementations of ops are, as a value that programs use and files keep.
//   benchmarking/benchmark.hpp             measures the time and the memory of a function.
//   benchmarking/benchmark_data.hpp        what a benchmark has measured, and the same as text.
//   benchmarking/diff_summary.hpp          how far two arrays differ, in a few numbers, and whether that is close enough.
//   benchmarking/elements_as_doubles.hpp   the elements of an array of any dtype as doubles.
//   benchmarking/fraction_tolerances.hpp   tolerances that hold for shares of the elements of an array.
//   benchmarking/json.hpp                  measurements as JSON, and back.
//   benchmarking/numeric_summary.hpp       the range and the means of an array, in a few numbers.
//   benchmarking/random_initialize.hpp     gives data to abstract arrays, the same for the same seed.
//   benchmarking/standardize_function.hpp  a function and its derivative as programs that can be measured.
#pragma once

#include <tokamax/benchmarking/autotune.hpp>
#include <tokamax/benchmarking/autotuning_file.hpp>
#include <tokamax/benchmarking/autotuning_result.hpp>
#include <tokamax/benchmarking/benchmark.hpp>
#include <tokamax/benchmarking/benchmark_data.hpp>
#include <tokamax/benchmarking/diff_summary.hpp>
#include <tokamax/benchmarking/elements_as_doubles.hpp>
#include <tokamax/benchmarking/fraction_tolerances.hpp>
#include <tokamax/benchmarking/json.hpp>
#include <tokamax/benchmarking/numeric_summary.hpp>
#include <tokamax/benchmarking/random_initialize.hpp>
#include <tokamax/benchmarking/standardize_function.hpp>
