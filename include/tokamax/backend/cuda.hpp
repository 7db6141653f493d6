// tokamax/backend/cuda.hpp: NVIDIA GPUs.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (programs that use GPUs include it)
//
//   backend/cuda/code_cache.hpp          keeps compiled device text on disk, so that a program compiles it once on a machine.
//   backend/cuda/code_jobs.hpp           what a program needs compiled or prepared, done by several threads before its first run.
//   backend/cuda/cublas_lt.hpp           matrix products of NVIDIA's library cuBLASLt, with its choice of algorithm remembered.
//   backend/cuda/cudnn.hpp               graphs of operations that NVIDIA's library cuDNN runs as one kernel.
//   backend/cuda/cudnn_attention.hpp     attention and its gradients as graphs for cuDNN, which keeps no scores.
//   backend/cuda/device.hpp              NVIDIA GPUs as device values, and the tag that their kernels are overloaded on.
//   backend/cuda/device_clock.hpp        the times of a GPU's work by its own clock, as times of the host.
//   backend/cuda/driver.hpp              the functions of the CUDA driver that the backend calls.
//   backend/cuda/execute.hpp             ties programs and eager calls to the GPUs, their kernels and their loops.
//   backend/cuda/instance.hpp            one GPU: its stream, its memory, its compiled code, and events.
//   backend/cuda/launch.hpp              what kernels need to launch device text: records of parameters, and texts by dtype.
//   backend/cuda/library.hpp             libraries that are found when the program runs, so that it also starts without them.
//   backend/cuda/loops.hpp               the fused loops of a program as device text, compiled at once and launched one by one.
//   backend/cuda/nvrtc.hpp               compiles device text into code for one architecture, by NVIDIA's library NVRTC.
//   backend/cuda/recorded_launches.hpp   the launches of a program as CUDA graphs, which the driver repeats by one call.
//   backend/cuda/text/conv.hpp           device text: a plain convolution, for what the libraries do not take.
//   backend/cuda/text/copy.hpp           device text: copies between strided arrays, and filling.
//   backend/cuda/text/cross_entropy.hpp  device text: the loss of rows of logits, and its gradient.
//   backend/cuda/text/index.hpp          device text: reads and writes at places that are values of the program.
//   backend/cuda/text/lanes.hpp          device text: a few numbers that a thread computes together, and functions of them.
//   backend/cuda/text/loop.hpp           device text: the place of a thread in a fused loop, and its loads and stores.
//   backend/cuda/text/norm.hpp           device text: layer_norm, rms_norm and their gradients.
//   backend/cuda/text/numbers.hpp        device text: the dtypes in memory, and the numbers in which they are computed.
//   backend/cuda/text/products.hpp       device text: a plain matrix product, for what the libraries do not take.
//   backend/cuda/text/reduce.hpp         device text: sums, maxima and other reductions in a fixed order.
//   backend/cuda/text/rotary.hpp         device text: pairs of features that turn by angles of their positions.
//   backend/cuda/text/row_part.hpp       device text: rows that groups of threads keep in registers.
//   backend/cuda/text/rows.hpp           device text: what needs all elements along one axis: argmax, running sums, sorting.
//   backend/cuda/text/scatter.hpp        device text: sums of rows by index, after a sort that keeps the order of equal indices.
//   backend/cuda/text/softmax.hpp        device text: softmax over rows, and its gradient.
#pragma once

#include <tokamax/backend/cuda/code_cache.hpp>
#include <tokamax/backend/cuda/code_jobs.hpp>
#include <tokamax/backend/cuda/cublas_lt.hpp>
#include <tokamax/backend/cuda/cudnn.hpp>
#include <tokamax/backend/cuda/cudnn_attention.hpp>
#include <tokamax/backend/cuda/device.hpp>
#include <tokamax/backend/cuda/device_clock.hpp>
#include <tokamax/backend/cuda/driver.hpp>
#include <tokamax/backend/cuda/execute.hpp>
#include <tokamax/backend/cuda/instance.hpp>
#include <tokamax/backend/cuda/launch.hpp>
#include <tokamax/backend/cuda/library.hpp>
#include <tokamax/backend/cuda/loops.hpp>
#include <tokamax/backend/cuda/nvrtc.hpp>
#include <tokamax/backend/cuda/recorded_launches.hpp>
