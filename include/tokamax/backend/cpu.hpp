// tokamax/backend/cpu.hpp: all of backend/cpu.
// SPDX-License-Identifier: Apache-2.0
//
//   backend/cpu/attention.hpp              scaled dot-product attention and its cotangents without the matrix of scores.
//   backend/cpu/device.hpp                 the tag that CPU kernels are overloaded on.
//   backend/cpu/element.hpp                element functions on SIMD registers, and how registers meet memory.
//   backend/cpu/execute.hpp                ties programs and eager calls to the CPU's loops and kernels.
//   backend/cpu/fused.hpp                  a fused group of elementwise ops as an expression type, compiled to one SIMD loop.
//   backend/cpu/gemm.hpp                   single-precision matrix products with any strides, blocked and packed for the caches.
//   backend/cpu/gemm_microkernel.hpp       register tiles of C += A B for AVX-512, AVX2 and any other machine.
//   backend/cpu/gemm_pack.hpp              copies strips of a matrix into the order in which the GEMM tiles read them.
//   backend/cpu/kernels/argmax.hpp         index of the first largest or smallest element along one axis.
//   backend/cpu/kernels/attention.hpp      attention and its gradients, operands read as they lie.
//   backend/cpu/kernels/concatenate.hpp    operands copied next to each other.
//   backend/cpu/kernels/cross_entropy.hpp  softmax_cross_entropy with integer labels and its gradient.
//   backend/cpu/kernels/cumulative.hpp     running sums, in the order of the axis.
//   backend/cpu/kernels/dot_general.hpp    dot_general as (batches of) matrix products on any strides.
//   backend/cpu/kernels/dynamic_slice.hpp  boxes copied out of and into arrays.
//   backend/cpu/kernels/floats.hpp         operands and results of any float and stride as dense f32 for the row kernels.
//   backend/cpu/kernels/gather.hpp         rows by index, and rows added up by index.
//   backend/cpu/kernels/lanes.hpp          how kernels read and write vectors of each element type.
//   backend/cpu/kernels/layer_norm.hpp     layer_norm and its gradients, one pass over the rows each.
//   backend/cpu/kernels/pad.hpp            a value around and between the elements.
//   backend/cpu/kernels/reduce.hpp         sum, max, min, and, or over any axes, in a tree that the shape alone fixes.
//   backend/cpu/kernels/reduce_plan.hpp    the operations of reductions, and the loops that their axes come to.
//   backend/cpu/kernels/reverse.hpp        rows copied in opposite order.
//   backend/cpu/kernels/rms_norm.hpp       rms_norm and its gradients, one pass over the rows each.
//   backend/cpu/kernels/softmax.hpp        softmax over the last axis and its gradient.
//   backend/cpu/kernels/sort.hpp           sorting as integers, a key's order above an element's position.
//   backend/cpu/kernels/threefry.hpp       hashed counters, one a lane.
//   backend/cpu/loop.hpp                   walk the axes of a fused loop and hand its rows to an inner function.
//   backend/cpu/norm.hpp                   layer_norm and rms_norm over the rows of a matrix, forward and backward.
//   backend/cpu/rows.hpp                   loops over the rows of a matrix and the vectors of a row, and folds along a row.
//   backend/cpu/simd.hpp                   the vector types of the CPU kernels, at the architecture the file is compiled for.
//   backend/cpu/softmax.hpp                softmax, logsumexp and cross entropy over the rows of a matrix.
//   backend/cpu/threads.hpp                loops over fixed chunks on several threads, and scratch memory that only grows.
//   backend/cpu/tile.hpp                   run a fused group that is known at run time only, line by line over tiles in the cache.
#pragma once

#include <tokamax/backend/cpu/attention.hpp>
#include <tokamax/backend/cpu/device.hpp>
#include <tokamax/backend/cpu/element.hpp>
#include <tokamax/backend/cpu/execute.hpp>
#include <tokamax/backend/cpu/fused.hpp>
#include <tokamax/backend/cpu/gemm.hpp>
#include <tokamax/backend/cpu/gemm_microkernel.hpp>
#include <tokamax/backend/cpu/gemm_pack.hpp>
#include <tokamax/backend/cpu/kernels/argmax.hpp>
#include <tokamax/backend/cpu/kernels/attention.hpp>
#include <tokamax/backend/cpu/kernels/concatenate.hpp>
#include <tokamax/backend/cpu/kernels/cross_entropy.hpp>
#include <tokamax/backend/cpu/kernels/cumulative.hpp>
#include <tokamax/backend/cpu/kernels/dot_general.hpp>
#include <tokamax/backend/cpu/kernels/dynamic_slice.hpp>
#include <tokamax/backend/cpu/kernels/floats.hpp>
#include <tokamax/backend/cpu/kernels/gather.hpp>
#include <tokamax/backend/cpu/kernels/lanes.hpp>
#include <tokamax/backend/cpu/kernels/layer_norm.hpp>
#include <tokamax/backend/cpu/kernels/pad.hpp>
#include <tokamax/backend/cpu/kernels/reduce.hpp>
#include <tokamax/backend/cpu/kernels/reduce_plan.hpp>
#include <tokamax/backend/cpu/kernels/reverse.hpp>
#include <tokamax/backend/cpu/kernels/rms_norm.hpp>
#include <tokamax/backend/cpu/kernels/softmax.hpp>
#include <tokamax/backend/cpu/kernels/sort.hpp>
#include <tokamax/backend/cpu/kernels/threefry.hpp>
#include <tokamax/backend/cpu/loop.hpp>
#include <tokamax/backend/cpu/norm.hpp>
#include <tokamax/backend/cpu/rows.hpp>
#include <tokamax/backend/cpu/simd.hpp>
#include <tokamax/backend/cpu/softmax.hpp>
#include <tokamax/backend/cpu/threads.hpp>
#include <tokamax/backend/cpu/tile.hpp>
