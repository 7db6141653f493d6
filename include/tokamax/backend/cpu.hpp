// tokamax/backend/cpu.hpp: all of backend/cpu.
// SPDX-License-Identifier: Apache-2.0
//
//   backend/cpu/attention.hpp         scaled dot-product attention and its cotangents without the matrix of scores.
//   backend/cpu/device.hpp            the tag that CPU kernels are overloaded on.
//   backend/cpu/element.hpp           element functions on SIMD registers, and how registers meet memory.
//   backend/cpu/execute.hpp           ties programs and eager calls to the CPU's loops and kernels.
//   backend/cpu/fused.hpp             a fused group of elementwise ops as an expression type, compiled to one SIMD loop.
//   backend/cpu/gemm.hpp              matrix products in f32 or bfloat16 with any strides, blocked and packed for the caches.
//   backend/cpu/gemm_bfloat16.hpp     panels and tiles of products in bfloat16 that are summed in f32.
//   backend/cpu/gemm_microkernel.hpp  register tiles of C += A B for AVX-512, AVX2 and any other machine.
//   backend/cpu/gemm_pack.hpp         copies strips of a matrix into the order in which the GEMM tiles read them.
//   backend/cpu/kernels_of.hpp        what a program finds of an op and of a fused loop on the CPU.
//   backend/cpu/loop.hpp              walk the axes of a fused loop and hand its rows to an inner function.
//   backend/cpu/norm.hpp              layer_norm and rms_norm over the rows of a matrix, forward and backward.
//   backend/cpu/rows.hpp              loops over the rows of a matrix and the vectors of a row, and folds along a row.
//   backend/cpu/simd.hpp              the vector types of the CPU kernels, at the architecture the file is compiled for.
//   backend/cpu/softmax.hpp           softmax, logsumexp and cross entropy over the rows of a matrix.
//   backend/cpu/threads.hpp           loops over fixed chunks on several threads, and scratch memory that only grows.
//   backend/cpu/tile.hpp              run a fused group that is known at run time only, line by line over tiles in the cache.
#pragma once

#include <tokamax/backend/cpu/attention.hpp>
#include <tokamax/backend/cpu/device.hpp>
#include <tokamax/backend/cpu/element.hpp>
#include <tokamax/backend/cpu/execute.hpp>
#include <tokamax/backend/cpu/fused.hpp>
#include <tokamax/backend/cpu/gemm.hpp>
#include <tokamax/backend/cpu/gemm_bfloat16.hpp>
#include <tokamax/backend/cpu/gemm_microkernel.hpp>
#include <tokamax/backend/cpu/gemm_pack.hpp>
#include <tokamax/backend/cpu/kernels_of.hpp>
#include <tokamax/backend/cpu/loop.hpp>
#include <tokamax/backend/cpu/norm.hpp>
#include <tokamax/backend/cpu/rows.hpp>
#include <tokamax/backend/cpu/simd.hpp>
#include <tokamax/backend/cpu/softmax.hpp>
#include <tokamax/backend/cpu/threads.hpp>
#include <tokamax/backend/cpu/tile.hpp>
