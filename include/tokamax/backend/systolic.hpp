// tokamax/backend/systolic.hpp: a simulated TPU: its chips, arrays, clock and pictures.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (programs that simulate include it)
//
//   backend/systolic/array_shape.hpp            sizes of an array and of a product, and the tiles that one has on the other.
//   backend/systolic/chip.hpp                   what a simulated TPU is made of, as numbers that name their sources.
//   backend/systolic/chips.hpp                  the chips that can be simulated: toy8x8, v4, v5e, v5p, v6e and tpu7x.
//   backend/systolic/collective.hpp             sums and copies among the chips of a ring, as programs.
//   backend/systolic/fact.hpp                   a number of a machine, with where it comes from.
//   backend/systolic/fastest_blocks.hpp         ops that are cut into blocks for VMEM, and the cut that is the fastest.
//   backend/systolic/matmul.hpp                 the blocked matrix product of the Pallas tutorial, as a program.
//   backend/systolic/mxu.hpp                    cycles of an array that keeps weights in its cells and loads the next ones meanwhile.
//   backend/systolic/os_array.hpp               an array whose cells keep sums, register by register, cycle by cycle.
//   backend/systolic/pe_array.hpp               an array cell by cell, register by register, cycle by cycle.
//   backend/systolic/pipeline.hpp               a grid of steps whose blocks are copied while other steps compute.
//   backend/systolic/product_cost.hpp           what a product of two blocks in VMEM costs on the arrays of a core.
//   backend/systolic/program.hpp                the work of a simulated TPU, as instructions that wait for each other.
//   backend/systolic/report/compare.hpp         one kernel on all chips, as a table.
//   backend/systolic/report/left_out.hpp        what the model says about a number that no constant was fitted to.
//   backend/systolic/report/losses.hpp          the utilisation of a run as a product of what was kept at each loss.
//   backend/systolic/report/measurements.hpp    published times of real chips, and what the model says about them.
//   backend/systolic/report/program_report.hpp  cycles, utilisation and stalls of a whole program, op by op.
//   backend/systolic/report/roofline.hpp        a run under the three roofs of its chip: HBM, VMEM and the arrays.
//   backend/systolic/report/svg.hpp             a picture as text: rectangles, lines, words.
//   backend/systolic/report/sweep.hpp           all sizes of blocks that fit, and how fast each of them is.
//   backend/systolic/report/trace.hpp           a run as a trace for Perfetto, and as a picture.
//   backend/systolic/report/wavefront.hpp       the cells of an array in each cycle, as pictures and as text.
//   backend/systolic/report/why.hpp             why a run is not faster, and what would change it.
//   backend/systolic/scalesim.hpp               the cycles and counts that SCALE-Sim v3 reports for a product.
//   backend/systolic/simulate.hpp               when everything in a program happens on a chip.
//   backend/systolic/stalls.hpp                 what a core did in each cycle: buckets that add up to all of them.
//   backend/systolic/two_core_matmul.hpp        a matrix product on both cores of a chip, in the versions of a tutorial.
//   backend/systolic/vector_cost.hpp            how many instructions a function of a vector register takes, and on which unit.
#pragma once

#include <tokamax/backend/systolic/array_shape.hpp>
#include <tokamax/backend/systolic/chip.hpp>
#include <tokamax/backend/systolic/chips.hpp>
#include <tokamax/backend/systolic/collective.hpp>
#include <tokamax/backend/systolic/fact.hpp>
#include <tokamax/backend/systolic/fastest_blocks.hpp>
#include <tokamax/backend/systolic/matmul.hpp>
#include <tokamax/backend/systolic/mxu.hpp>
#include <tokamax/backend/systolic/os_array.hpp>
#include <tokamax/backend/systolic/pe_array.hpp>
#include <tokamax/backend/systolic/pipeline.hpp>
#include <tokamax/backend/systolic/product_cost.hpp>
#include <tokamax/backend/systolic/program.hpp>
#include <tokamax/backend/systolic/scalesim.hpp>
#include <tokamax/backend/systolic/simulate.hpp>
#include <tokamax/backend/systolic/stalls.hpp>
#include <tokamax/backend/systolic/two_core_matmul.hpp>
#include <tokamax/backend/systolic/vector_cost.hpp>
