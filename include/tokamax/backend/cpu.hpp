// tokamax/backend/cpu.hpp: all of backend/cpu.
// SPDX-License-Identifier: Apache-2.0
//
//   backend/cpu/attention/attention.hpp           scaled dot-product attention and its cotangents without the matrix of scores.
//   backend/cpu/attention/backward.hpp            the cotangents of attention, in pieces of some keys of one head.
//   backend/cpu/attention/bias_cotangent.hpp      the cotangent of the bias of attention, summed in a fixed order.
//   backend/cpu/attention/blocks.hpp              the operands of attention, and the panels of its products.
//   backend/cpu/attention/delta_rule.hpp          the gated delta rule of many sequences and heads, on several threads.
//   backend/cpu/attention/delta_rule_head.hpp     the gated delta rule for some tokens of one head, in one or in chunks.
//   backend/cpu/attention/few_queries.hpp         dense attention of few queries, at the speed at which keys and values are read.
//   backend/cpu/attention/finite_rows.hpp         keeps what is not finite away from sums in which it has a weight of zero.
//   backend/cpu/attention/forward.hpp             attention of some queries of one head, a block of keys at a time.
//   backend/cpu/attention/paged.hpp               attention of tokens to keys and values in pages: of few at the speed of memory.
//   backend/cpu/attention/paged_blocks.hpp        attention of many queries to keys and values in pages, by blocked products.
//   backend/cpu/attention/paged_groups.hpp        the operands of paged attention, and its work in groups of tokens.
//   backend/cpu/attention/row_products.hpp        products of few queries with four rows of keys or values at a time.
//   backend/cpu/attention/row_task.hpp            attention of few queries to keys and values that are read where they lie.
//   backend/cpu/attention/seen_tiles.hpp          the tiles of a block of scores that the backward pass computes.
//   backend/cpu/attention/softmax.hpp             the softmax of a block of scores and its cotangent, for any machine and AVX-512.
//   backend/cpu/attention/terms.hpp               biases, soft caps, masks and windows of a block of scores.
//   backend/cpu/attention/tiles.hpp               register tiles that read a block of scores row by row, without packing it.
//   backend/cpu/attention/visible.hpp             how much of a block of queries and keys masks, ranges and segments let through.
//   backend/cpu/conv/convolution.hpp              convolution as products of the window with the rows of a padded image.
//   backend/cpu/conv/frame.hpp                    which rows and columns of a padded image the window of a convolution covers.
//   backend/cpu/conv/tile.hpp                     register tiles of a convolution, which read the image without copying it.
//   backend/cpu/conv/window_gradient.hpp          the gradient of a convolution's window.
//   backend/cpu/device.hpp                        the processor as a device, and the tag that CPU kernels are overloaded on.
//   backend/cpu/execute.hpp                       ties programs and eager calls to the CPU's loops and kernels.
//   backend/cpu/features.hpp                      the instructions that this processor has, asked in one place.
//   backend/cpu/fourier/butterfly.hpp             Fourier transforms of a few complex numbers, one in each lane of registers.
//   backend/cpu/fourier/passes.hpp                the passes of a Fourier transform, which leave their results in order.
//   backend/cpu/fourier/plan.hpp                  how a Fourier transform of some length is computed, and the roots of one that it needs.
//   backend/cpu/fourier/transform.hpp             Fourier transforms of rows, shared by threads.
//   backend/cpu/gemm/blocked.hpp                  products of many rows, in blocks that stay in the caches.
//   backend/cpu/gemm/choose/choice.hpp            several implementations of matrix products, the fastest chosen for each shape.
//   backend/cpu/gemm/choose/implementation.hpp    the interface for matrix products by other libraries.
//   backend/cpu/gemm/choose/key.hpp               the properties of a product on which the fastest implementation depends, as text.
//   backend/cpu/gemm/choose/offered.hpp           the implementations of products that calls of dot_general may name.
//   backend/cpu/gemm/choose/openmp_threads.hpp    the number of threads that other libraries use.
//   backend/cpu/gemm/coded_matrix.hpp             packed weights as numbers in registers.
//   backend/cpu/gemm/coded_product.hpp            rows of f32 times packed weights, with the bits of the product in floats.
//   backend/cpu/gemm/column.hpp                   products by a vector, which read A once at the speed of memory.
//   backend/cpu/gemm/dispatch.hpp                 which microkernels multiply on this machine.
//   backend/cpu/gemm/few_rows.hpp                 products of few rows, which read B once at the speed of memory.
//   backend/cpu/gemm/few_rows_of_bytes.hpp        few rows of f32 times a matrix of 8-bit numbers, which is read once.
//   backend/cpu/gemm/gemm.hpp                     matrix products in f32, bfloat16 or int8, with any strides.
//   backend/cpu/gemm/isa/amx.hpp                  bfloat16 and int8 tiles for the matrix unit of x86-64 (AMX).
//   backend/cpu/gemm/isa/amx_sets.hpp             the microkernels of the matrix unit of x86-64 (AMX).
//   backend/cpu/gemm/isa/amx_split_bf16.hpp       products of f32 as sums of bfloat16 products, by the matrix unit of x86-64 (AMX).
//   backend/cpu/gemm/isa/avx2.hpp                 register tiles of products for AVX2 with fused multiply-add.
//   backend/cpu/gemm/isa/avx2_bfloat16.hpp        panels and register tiles of bfloat16 products for AVX2.
//   backend/cpu/gemm/isa/avx2_int8.hpp            panels and register tiles of int8 products for AVX2.
//   backend/cpu/gemm/isa/avx2_sets.hpp            the microkernels of AVX2, and those of any machine.
//   backend/cpu/gemm/isa/avx2_sums.hpp            loads and stores the sums of AVX2's register tiles.
//   backend/cpu/gemm/isa/avx2_transposed_b.hpp    register tiles that read a transposed B without packing it, for few rows.
//   backend/cpu/gemm/isa/avx512.hpp               register tiles of products in AVX-512.
//   backend/cpu/gemm/isa/avx512_codes.hpp         few rows times packed weights in AVX-512.
//   backend/cpu/gemm/isa/avx512_sets.hpp          the microkernels of AVX-512.
//   backend/cpu/gemm/isa/portable.hpp             register tiles of products for any machine.
//   backend/cpu/gemm/isa/portable_int8.hpp        register tiles of int8 products for any machine.
//   backend/cpu/gemm/microkernel_set.hpp          what an instruction set brings to matrix products: register tiles and panels.
//   backend/cpu/gemm/one_product.hpp              computes one product in the way that suits its shape.
//   backend/cpu/gemm/outer.hpp                    products of one term, which write C once at the speed of memory.
//   backend/cpu/gemm/pack/pairs.hpp               panels of bfloat16 pairs, the terms that x86-64 multiplies two at a time.
//   backend/cpu/gemm/pack/quads.hpp               panels of four int8, the terms that x86-64 multiplies at a time.
//   backend/cpu/gemm/pack/split_bf16.hpp          panels of f32 numbers as sums of two or three bfloat16, for matrix units.
//   backend/cpu/gemm/pack/strips.hpp              copies strips of a matrix into the order in which the GEMM tiles read them.
//   backend/cpu/gemm/packed_matrix.hpp            the right operand of matrix products, packed once for many of them.
//   backend/cpu/gemm/problem.hpp                  one matrix product, and the panels of its operands.
//   backend/cpu/gemm/scaled_int8.hpp              products of int8 whose sums become floats while they are in the cache.
//   backend/cpu/gemm/typed.hpp                    matrix products of f64 and of integers.
//   backend/cpu/gemm/typed_row.hpp                one row times a matrix of f64 or of integers, read where it lies.
//   backend/cpu/gemm/typed_tile.hpp               register tiles of products of f64 and of integers, and their packed operands.
//   backend/cpu/kernels_of.hpp                    what a program finds of an op and of a fused loop on the CPU.
//   backend/cpu/loop/compiled.hpp                 a fused group of elementwise ops as an expression type, compiled to one SIMD loop.
//   backend/cpu/loop/copied_rows.hpp              rows of an array as tiles, in which they follow one another, and back.
//   backend/cpu/loop/interpreted.hpp              run a fused loop that is only known at run time.
//   backend/cpu/loop/loop.hpp                     walk over the axes of a fused loop, and call an inner function for each row.
//   backend/cpu/loop/loop_code.hpp                the instructions of a fused loop as operations that run one after the other.
//   backend/cpu/loop/loop_program.hpp             when a loop that is only known at run time becomes machine code.
//   backend/cpu/loop/operation.hpp                the operations of interpreted loops, which pass values to one another in registers.
//   backend/cpu/loop/operation_of_dtype.hpp       the operations of interpreted loops that read, write, convert and round elements.
//   backend/cpu/loop/tile.hpp                     elements in the memory of an interpreted loop, and the tile loop of an elementwise op.
//   backend/cpu/loop/transposed_copy.hpp          copies of arrays whose innermost axis is another one than before.
//   backend/cpu/processor.hpp                     ends a program with a message if the processor lacks instructions that it needs.
//   backend/cpu/reduce/plan.hpp                   the operations of reductions, and the loops over their axes.
//   backend/cpu/reduce/source.hpp                 gives a reduction its operand: from memory, or made or widened piece by piece.
//   backend/cpu/reduce/tree.hpp                   reductions over any axes, in a tree that the shape alone fixes.
//   backend/cpu/row_ops/linear_cross_entropy.hpp  a product and the cross entropy of its rows, in pieces.
//   backend/cpu/row_ops/norm.hpp                  layer_norm and rms_norm over the rows of a matrix, forward and backward.
//   backend/cpu/row_ops/rotary_embedding.hpp      turns pairs of features by angles that are computed once for all heads.
//   backend/cpu/row_ops/softmax.hpp               softmax, logsumexp and cross entropy over the rows of a matrix.
//   backend/cpu/vector/doubles.hpp                the lanes of a register as doubles, and logarithms and powers of two of doubles.
//   backend/cpu/vector/element.hpp                element functions on SIMD registers, and how registers are loaded and stored.
//   backend/cpu/vector/elementary.hpp             elementary functions on registers, over the whole range of floats.
//   backend/cpu/vector/exponentials.hpp           exponentials of a block of a row with their sum, for any machine and AVX-512.
//   backend/cpu/vector/floats.hpp                 operands and results of any float and stride as dense f32 for the row kernels.
//   backend/cpu/vector/lanes.hpp                  how kernels read and write vectors of each element type.
//   backend/cpu/vector/narrow.hpp                 registers of 32 bits a lane from numbers of 8 bits and bfloat16, and back.
//   backend/cpu/vector/network.hpp                sorts as many lines as there are lanes at once, by a network of comparisons.
//   backend/cpu/vector/pack.hpp                   a register of any element type, for types that do not fit into 32-bit lanes.
//   backend/cpu/vector/prefetch.hpp               loads memory into caches before it is needed.
//   backend/cpu/vector/register_function.hpp      the functions of elementwise ops on SIMD registers.
//   backend/cpu/vector/rows.hpp                   loops over the rows of a matrix and the vectors of a row, and folds along a row.
//   backend/cpu/vector/simd.hpp                   the vector types of the CPU kernels, at the architecture the file is compiled for.
//   backend/cpu/vector/thread_pool.hpp            teams of threads that share the chunks of loops; in between they spin briefly, then sleep.
//   backend/cpu/vector/threads.hpp                loops over fixed chunks on several threads, and scratch memory of kernels.
//   backend/cpu/vector/transpose.hpp              lanes in another order, and squares of registers turned around their diagonal.
//   backend/cpu/vector/transposed_matrix.hpp      matrices that are transposed square by square, in registers.
#pragma once

#include <tokamax/backend/cpu/device.hpp>
#include <tokamax/backend/cpu/execute.hpp>
#include <tokamax/backend/cpu/features.hpp>
#include <tokamax/backend/cpu/kernels_of.hpp>
#include <tokamax/backend/cpu/processor.hpp>
