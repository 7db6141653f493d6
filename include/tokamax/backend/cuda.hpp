// tokamax/backend/cuda.hpp: NVIDIA GPUs.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (programs that use GPUs include it)
//
// Results are the same bits in each run on one kind of GPU with one version of NVIDIA's libraries: sums have a fixed order, no
// kernel adds floats by atomics, an algorithm of cuBLASLt is taken only if it has the bits of the library's first proposal, and the
// engine of cuDNN that was measured once is kept on disk. f32 is multiplied as f32 unless with_precision<tf32_products> asks for
// TF32. A program need not be compiled for GPUs: it finds these libraries when it runs, and cuda.missing() names what lacks.
//
// The environment of a program, all optional:
// TOKAMAX_CUDA_CHECK=1             waits after each step, so that an error names the step; says on stderr what cuDNN refuses
// TOKAMAX_CUDA_NONDETERMINISTIC=1  takes faster gradients of attention, whose bits differ from run to run
// TOKAMAX_CUDA_TUNE=0              takes the libraries' first proposals and measures nothing
// TOKAMAX_CACHE=folder             where compiled code and measured choices are kept; else ~/.cache/tokamax
// TOKAMAX_CUDA_PRECOMPILE=sm_90a   runs nothing, and compiles the program's code for these architectures (a list with commas)
// TOKAMAX_CUDA_CODE=folder         where such code is; else the program's file with .cubins behind its name
// TOKAMAX_CUDA_DRIVER, TOKAMAX_CUDA_NVRTC, TOKAMAX_CUDA_BLAS, TOKAMAX_CUDA_DNN=file   NVIDIA's libraries; else the system's,
// or those in CUDA_HOME, CUDA_PATH or /usr/local/cuda
//
//   backend/cuda/device.hpp                       NVIDIA GPUs as device values, and the tag that their kernels are overloaded on.
//   backend/cuda/driver/code_cache.hpp            keeps compiled device text on disk, so that a program compiles it once on a machine.
//   backend/cuda/driver/code_jobs.hpp             what a program needs compiled or prepared, done by several threads before its first run.
//   backend/cuda/driver/connection.hpp            the libraries that GPUs are reached through, and where their compiled code comes from.
//   backend/cuda/driver/driver.hpp                the functions of the CUDA driver that the backend calls.
//   backend/cuda/driver/library.hpp               libraries that are found when the program runs, so that it also starts without them.
//   backend/cuda/driver/nvrtc.hpp                 compiles device text into code for one architecture, by NVIDIA's library NVRTC.
//   backend/cuda/execute.hpp                      ties programs and eager calls to the GPUs, their kernels and their loops.
//   backend/cuda/launch.hpp                       what kernels need to launch device text: records of parameters, and texts by dtype.
//   backend/cuda/libraries/attention_library.hpp  attention graphs of one GPU, each with the fastest of cuDNN's engines for it.
//   backend/cuda/libraries/cublas_lt.hpp          matrix products of NVIDIA's library cuBLASLt, with its choice of algorithm remembered.
//   backend/cuda/libraries/cudnn.hpp              the functions of NVIDIA's library cuDNN, and the objects that it is told problems by.
//   backend/cuda/libraries/cudnn_attention.hpp    attention and its gradients as graphs for cuDNN, which keeps no scores.
//   backend/cuda/libraries/cudnn_graph.hpp        graphs of operations that cuDNN runs as one kernel, by one of its engines.
//   backend/cuda/loops.hpp                        the fused loops of a program as device text, compiled at once and launched one by one.
//   backend/cuda/precompile.hpp                   a program that runs without a GPU and only compiles the code that GPUs will need.
//   backend/cuda/run/body_memory.hpp              what kernels take for themselves in bodies of recorded control flow.
//   backend/cuda/run/conditional_node.hpp         a node of a CUDA graph whose bodies run as often as a value on the GPU says.
//   backend/cuda/run/device_clock.hpp             the times of a GPU's work by its own clock, as times of the host.
//   backend/cuda/run/done_event.hpp               the end of some work of a GPU.
//   backend/cuda/run/instance.hpp                 one GPU: its stream, its memory, its compiled code, and events.
//   backend/cuda/run/instance_type.hpp            the class of one GPU.
//   backend/cuda/run/put_memory.hpp               memory of a GPU for arrays that come from the host, which is used in turn.
//   backend/cuda/run/recorded_launches.hpp        the launches of a program as CUDA graphs, which the driver repeats by one call.
//   backend/cuda/run/staging.hpp                  copies from the host to a GPU by way of pinned memory.
//   backend/cuda/text/condition.hpp               device text: a value in memory becomes the condition of a node of a CUDA graph.
//   backend/cuda/text/conv.hpp                    device text: a plain convolution, for what the libraries do not take.
//   backend/cuda/text/copy.hpp                    device text: copies between strided arrays, and filling.
//   backend/cuda/text/cross_entropy.hpp           device text: the loss of rows of logits, and its gradient.
//   backend/cuda/text/index.hpp                   device text: reads and writes at places that are values of the program.
//   backend/cuda/text/lanes.hpp                   device text: a few numbers that a thread computes together, and functions of them.
//   backend/cuda/text/loop.hpp                    device text: the place of a thread in a fused loop, and its loads and stores.
//   backend/cuda/text/norm.hpp                    device text: layer_norm, rms_norm and their gradients.
//   backend/cuda/text/numbers.hpp                 device text: the dtypes in memory, and the numbers in which they are computed.
//   backend/cuda/text/products.hpp                device text: a plain matrix product, for what the libraries do not take.
//   backend/cuda/text/reduce.hpp                  device text: sums, maxima and other reductions in a fixed order.
//   backend/cuda/text/rotary.hpp                  device text: pairs of features that turn by angles of their positions.
//   backend/cuda/text/row_part.hpp                device text: rows that groups of threads keep in registers.
//   backend/cuda/text/rows.hpp                    device text: what needs all elements along one axis: argmax, running sums, sorting.
//   backend/cuda/text/scatter.hpp                 device text: sums of rows by index, after a sort that keeps the order of equal indices.
//   backend/cuda/text/softmax.hpp                 device text: softmax over rows, and its gradient.
#pragma once

#include <tokamax/backend/cuda/device.hpp>
#include <tokamax/backend/cuda/execute.hpp>
