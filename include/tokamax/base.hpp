// tokamax/base.hpp: all of base.
// SPDX-License-Identifier: Apache-2.0
//
//   base/bfloat16.hpp             the 16-bit float with float32's exponent range.
//   base/dtype.hpp                element types by name, one row each.
//   base/element.hpp              the C++ type of each dtype, the one choice by dtype, and elements as bits.
//   base/error.hpp                the one exception of the library.
//   base/extent.hpp               extents that are known when a program runs, and arithmetic with them.
//   base/extent_form.hpp          what a dynamic extent means: products and sums of symbols, and the number that stands for it.
//   base/extent_text.hpp          dynamic extents as text: "4n", "n+1", "2n(m+o)", "max(0,n-1)", "16ceil(n/16)".
//   base/fixed_string.hpp         text of bounded length that can be a template argument.
//   base/linked.hpp               functions that constant expressions evaluate and run-time calls may find in a linked library.
//   base/modular.hpp              integers whose arithmetic wraps around, as that of registers does.
//   base/requirements.hpp         one line that says what to do, where tokamax cannot be compiled.
//   base/rule.hpp                 pointers to functions, made of functions or of lambdas without captures.
//   base/shape.hpp                a short list of extents, axes or other small integers, held by value.
//   base/small_float.hpp          float16 and the 8-bit floats.
//   base/small_integer.hpp        integers of 4 bits, each in a byte of its own.
//   base/time_mark.hpp            a point in the work of a device, whose time is known when the device has come there.
//   base/tree.hpp                 functions over all leaves of nested structs, tuples and sequences.
//   base/tree/copy_tree.hpp       a copy of a tree, also of what its unique_ptrs own.
//   base/tree/field_count.hpp     how many fields a plain struct has, found by trying initialisers.
//   base/tree/reflect.hpp         fields and field names of plain structs.
//   base/tree/tree_like.hpp       a tree with the structure of another tree, but with leaves of another type.
//   base/tree/tree_node.hpp       what a type is inside a tree: a leaf, a static value, or a node that holds others.
//   base/tree/tree_path.hpp       leaves chosen by their paths.
//   base/tree/tree_structure.hpp  takes a tree apart into its structure and its leaves, and puts it together again.
//   base/tree/tree_walk.hpp       the one recursion behind all tree functions.
//   base/vec.hpp                  a growable array that costs the constant evaluator little.
//   base/version.hpp              the version of the library, the only place that states it.
#pragma once

#include <tokamax/base/bfloat16.hpp>
#include <tokamax/base/dtype.hpp>
#include <tokamax/base/element.hpp>
#include <tokamax/base/error.hpp>
#include <tokamax/base/extent.hpp>
#include <tokamax/base/extent_form.hpp>
#include <tokamax/base/extent_text.hpp>
#include <tokamax/base/fixed_string.hpp>
#include <tokamax/base/linked.hpp>
#include <tokamax/base/modular.hpp>
#include <tokamax/base/requirements.hpp>
#include <tokamax/base/rule.hpp>
#include <tokamax/base/shape.hpp>
#include <tokamax/base/small_float.hpp>
#include <tokamax/base/small_integer.hpp>
#include <tokamax/base/time_mark.hpp>
#include <tokamax/base/tree.hpp>
#include <tokamax/base/tree/copy_tree.hpp>
#include <tokamax/base/tree/field_count.hpp>
#include <tokamax/base/tree/reflect.hpp>
#include <tokamax/base/tree/tree_like.hpp>
#include <tokamax/base/tree/tree_node.hpp>
#include <tokamax/base/tree/tree_path.hpp>
#include <tokamax/base/tree/tree_structure.hpp>
#include <tokamax/base/tree/tree_walk.hpp>
#include <tokamax/base/vec.hpp>
#include <tokamax/base/version.hpp>
