# library_lists.cmake: backend/cpu/generated/kernels.hpp lists what the library of kernels holds, as the compiler finds it, and
# core/generated/ops.hpp declares its ops.
#
#   cmake [-DCOMPILER=g++] [-DFLAGS=file] -P cmake/library_lists.cmake           checks (half a minute)
#   cmake [-DCOMPILER=g++] [-DFLAGS=file] -DFIX=1 -P cmake/library_lists.cmake   writes the headers
#
# COMPILER is a g++, and FLAGS a response file with its flags. What it found is kept in build/library_lists/ until a header
# changes. No C++ is read here but by the compiler. A first file includes the folders that ops are in, and -fkeep-inline-functions
# makes symbols of all their functions. The names of these symbols have the names of descriptors, and of functions with a copy in
# the library. A second file asks which of these ops have kernels. It includes the kernels part by part and prints the answers,
# and its symbols have the rest: what the descriptors name.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/problems.cmake)
set(include ${root}/include/tokamax)
set(generated backend/cpu/generated/kernels.hpp)
set(generated_names core/generated/ops.hpp)
if(NOT COMPILER)
  set(COMPILER g++)
endif()
set(flags -std=c++20 -march=x86-64-v3 -ffp-contract=off -fconstexpr-ops-limit=4000000000 -fconstexpr-loop-limit=100000000
          -fconstexpr-depth=4096 -DFMT_HEADER_ONLY=1 -I${root}/include)
if(FLAGS)
  set(flags @${FLAGS})
endif()
execute_process(COMMAND ${COMPILER} --version OUTPUT_VARIABLE version ERROR_QUIET)
if(NOT version MATCHES "Free Software Foundation")
  message(STATUS "skipped: ${COMPILER} is not g++, which has -fkeep-inline-functions")
  return()
endif()

# The parts that the kernels are compiled in, which base/compiled_once.hpp names, and their files of backend/cpu/kernels/. An op
# without a kernel is in ELEMENTWISE.
set(parts ELEMENTWISE REDUCE ROWS MOVEMENT PRODUCTS)
set(files_of_REDUCE argmax cumulative reduce)
set(files_of_ROWS attention conv1d_sums cross_entropy norm norm_across rotary_embedding softmax)
set(files_of_MOVEMENT concatenate dynamic_slice fft gather grid_loop max_pool pack_int4 pad paged_attention ragged_gather
                      ragged_gather_reduce reverse scatter search_sorted sort take_along threefry top_k true_positions)
set(files_of_PRODUCTS conv dot_general gated_delta_rule gemm_precision linear_cross_entropy mixed_dot packed_dot ragged_dot scaled_dot)
file(GLOB_RECURSE files RELATIVE ${include}/backend/cpu/kernels ${include}/backend/cpu/kernels/*.hpp)
list(SORT files)
foreach(file IN LISTS files)
  cmake_path(GET file STEM name)
  set(part "")
  foreach(other IN ITEMS REDUCE ROWS MOVEMENT PRODUCTS)
    if(name IN_LIST files_of_${other})
      set(part ${other})
      list(REMOVE_ITEM files_of_${other} ${name})
    endif()
  endforeach()
  if(NOT part)
    message(FATAL_ERROR "backend/cpu/kernels/${file}: in no part; cmake/library_lists.cmake has their lists")
  endif()
  string(APPEND includes_of_${part} "#include <tokamax/backend/cpu/kernels/${file}>\n")
endforeach()
foreach(part IN ITEMS REDUCE ROWS MOVEMENT PRODUCTS)
  if(files_of_${part})
    message(FATAL_ERROR "cmake/library_lists.cmake: the part ${part} lists kernels that are not there: ${files_of_${part}}")
  endif()
endforeach()
# Functions with a copy in the library are of the folders that everyone includes. Programs that link the library include other
# ops where they use them; the lists name these by declarations.
set(everywhere "")
foreach(folder IN ITEMS compiler core lax random runtime transforms)
  string(APPEND everywhere "#include <tokamax/${folder}.hpp>\n")
endforeach()
set(special "#include <tokamax/kernel.hpp>\n#include <tokamax/ops.hpp>\n")
set(folders "${everywhere}${special}")

# What was found is kept in this folder, which has a name made of all headers.
file(GLOB_RECURSE headers RELATIVE ${include} ${include}/*.hpp)
list(FILTER headers EXCLUDE REGEX "/generated/")
list(SORT headers)
set(sums "${version}")
foreach(header IN LISTS headers ITEMS ../../cmake/library_lists.cmake)
  file(SHA256 ${include}/${header} sum)
  string(APPEND sums "${header} ${sum}\n")
endforeach()
string(SHA256 sum "${sums}")
string(SUBSTRING ${sum} 0 16 sum)
set(work ${root}/build/library_lists/${sum})

# Compiles `text` into the object ${work}/${name}.o, with the options in ARGN. The result is the list of its symbols.
function(symbols_of name text result)
  file(WRITE ${work}/${name}.cpp "${text}")
  execute_process(COMMAND ${COMPILER} ${flags} -O0 ${ARGN} -c ${work}/${name}.cpp -o ${work}/${name}.o
                  RESULT_VARIABLE code ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${name}.cpp does not compile, so nothing can be listed:\n${output}")
  endif()
  execute_process(COMMAND nm -C ${work}/${name}.o COMMAND grep -E " tokamax::" OUTPUT_VARIABLE symbols
                  COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${symbols}" PARENT_SCOPE)
endfunction()

# All that `pattern` finds in the symbols, without `before` and `after`, sorted.
function(names_in symbols before name after result)
  string(REGEX MATCHALL "${before}${name}${after}" found "${symbols}")
  list(TRANSFORM found REPLACE "^${before}(${name})${after}$" "\\1")
  list(REMOVE_DUPLICATES found)
  list(SORT found)
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

function(find_all)
  symbols_of(names "${folders}" symbols -fkeep-inline-functions)
  names_in("${symbols}" " tokamax::" "[a-z0-9_]+_p" "(\n|::{lambda)" ops)  # a descriptor, or one of its rules
  names_in("${symbols}" "linked_function<&?[(]?tokamax::" "[a-z0-9_:]+" "[^\n]*>::run" functions)
  set(text "${folders}#include <tokamax/backend/cpu/device.hpp>
#include <cstdio>
namespace tokamax {
template <int Part>
struct part_tag : cpu_tag {};  // one for each part, so that no answer is kept for the next
template <const op& Op, int Part>
constexpr bool known = requires(const kernel_arguments& a) { kernel(op_c<Op>{}, part_tag<Part>{}, a); };
}
using namespace tokamax;
")
  set(number 0)
  foreach(part IN ITEMS REDUCE ROWS MOVEMENT PRODUCTS)
    string(APPEND text "${includes_of_${part}}constexpr bool known_with_${part}[] = {")
    foreach(name IN LISTS ops)
      string(APPEND text "known<${name}, ${number}>, ")
    endforeach()
    string(APPEND text "};\n")
    math(EXPR number "${number} + 1")
  endforeach()
  string(APPEND text "template <const op& Op>
void print(const char* name, int i) {
  const char* part = known_with_REDUCE[i]     ? \"REDUCE\"
                     : known_with_ROWS[i]     ? \"ROWS\"
                     : known_with_MOVEMENT[i] ? \"MOVEMENT\"
                     : known_with_PRODUCTS[i] ? \"PRODUCTS\"
                                              : \"\";
  if (part[0]) std::printf(\"%s %s%s%s\\n\", name, part, takes_views<Op> ? \" views\" : \"\", takes_producer<Op> ? \" producer\" : \"\");
  static const op* volatile named;
  named = &Op;
}
int main() {
  int i = 0;
")
  foreach(name IN LISTS ops)
    string(APPEND text "  print<${name}>(\"${name}\", i++);\n")
  endforeach()
  symbols_of(kernels "${text}}\n" symbols)
  execute_process(COMMAND ${COMPILER} ${work}/kernels.o -o ${work}/kernels COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${work}/kernels OUTPUT_VARIABLE kernels COMMAND_ERROR_IS_FATAL ANY)
  names_in("${symbols}" "find_kernels<tokamax::" "[a-z0-9_]+_p" ">" with_kernels)
  names_in("${symbols}" "attribute_list tokamax::describe_attributes<tokamax::" "[a-z0-9_:]+" ">" schemas)
  file(REMOVE ${work}/names.o ${work}/kernels.o ${work}/kernels)
  file(WRITE ${work}/found.cmake "set(ops ${ops})
set(functions ${functions})
set(with_kernels ${with_kernels})
set(schemas ${schemas})
set(kernels [[${kernels}]])
")
endfunction()
if(NOT EXISTS ${work}/found.cmake)
  find_all()
endif()
include(${work}/found.cmake)

string(STRIP "${kernels}" kernels)
string(REPLACE "\n" ";" kernels "${kernels}")
foreach(kernel IN LISTS kernels)
  string(REPLACE " " ";" takes "${kernel}")
  list(POP_FRONT takes name part)
  set(part_of_${name} ${part})
  list(TRANSFORM takes REPLACE "(.+)" ".\\1 = true")
  list(JOIN takes ", " takes)
  string(APPEND facts_of_${part} "template <>\ninline constexpr linkage linked_kernel<${name}, cpu_tag>{true, {${takes}}};\n")
  if(NOT name IN_LIST with_kernels)
    problem("${name} has a kernel, so its descriptor must say .kernels = kernels_of<${name}>")
  endif()
endforeach()
foreach(name IN LISTS with_kernels)
  if(NOT DEFINED part_of_${name})
    set(part_of_${name} ELEMENTWISE)
  endif()
  string(APPEND linked_in_${part_of_${name}} "TOKAMAX_KERNELS kernel_set find_kernels<${name}>();\n")
endforeach()
foreach(list_of IN ITEMS "ops const op* descriptor_of<@>()" "schemas attribute_list describe_attributes<@>()"
                         "functions struct linked_function<@>")
  string(REGEX MATCH "^([a-z]+) (.*)$" unused "${list_of}")
  foreach(name IN LISTS ${CMAKE_MATCH_1})
    string(REPLACE "@" ${name} line "${CMAKE_MATCH_2}")
    string(APPEND linked "TOKAMAX_KERNELS ${line};\n")
  endforeach()
endforeach()
set(declared_ops "")
foreach(name IN LISTS ops)
  string(APPEND declared_ops "extern const op ${name};\n")
endforeach()
set(declared_records "")
foreach(name IN LISTS schemas)
  if(name MATCHES "^(.*)::(.*)$")
    string(APPEND declared_records "namespace ${CMAKE_MATCH_1} {\nstruct ${CMAKE_MATCH_2};\n}  // namespace ${CMAKE_MATCH_1}\n")
  else()
    string(APPEND declared_records "struct ${name};\n")
  endif()
endforeach()
list(TRANSFORM ops PREPEND "&")
list(JOIN ops ",\n          " ops)

# Instantiations of a part: here, in another file, or wherever they are used.
function(instantiations part lines result)
  set(${result} "
#if defined(TOKAMAX_INSTANTIATE_KERNELS) && TOKAMAX_COMPILES(${part})
  #define TOKAMAX_KERNELS template
#elif !TOKAMAX_COMPILES(${part})
  #define TOKAMAX_KERNELS extern template
#endif
#if defined(TOKAMAX_KERNELS)
namespace tokamax {
${lines}}  // namespace tokamax
  #undef TOKAMAX_KERNELS
#endif
" PARENT_SCOPE)
endfunction()
string(REPLACE "#include" "  #include" special_indented "${special}")
set(sections "")
foreach(part IN LISTS parts)  # first what has a kernel, since it must be known before it is used
  if(DEFINED facts_of_${part})
    string(REPLACE "#include" "  #include" lines "${includes_of_${part}}")
    string(APPEND sections "
#if TOKAMAX_COMPILES(${part})
${lines}#else
namespace tokamax {
${facts_of_${part}}}  // namespace tokamax
#endif
")
  endif()
endforeach()
foreach(part IN LISTS parts)
  instantiations(${part} "${linked_in_${part}}" section)
  string(APPEND sections "${section}")
endforeach()
instantiations(RULES "${linked}" section)
set(expected
"// tokamax/${generated}: the kernels of all ops, compiled here or in a linked library.
// SPDX-License-Identifier: Apache-2.0
//
// Written by cmake/library_lists.cmake, read at the end of execute.hpp. base/compiled_once.hpp says which file compiles what.
#pragma once

#include <tokamax/backend/cpu/kernels_of.hpp>
${everywhere}
#if defined(TOKAMAX_INSTANTIATE_KERNELS) || !defined(TOKAMAX_SEPARATE_KERNELS)
${special_indented}#else  // their headers are included where they are used
namespace tokamax {
${declared_records}}  // namespace tokamax
#endif
${sections}${section}
#if TOKAMAX_COMPILES(RULES)
namespace tokamax {
TOKAMAX_BODY vec<const op*> library_ops() {
  return {${ops}};
}
}  // namespace tokamax
#endif
")
write_or_check(include/tokamax/${generated} "${expected}" library_lists)
write_or_check(include/tokamax/${generated_names}
"// tokamax/${generated_names}: the descriptors of all ops of the library, declared ahead of their headers.
// SPDX-License-Identifier: Apache-2.0
//
// Written by cmake/library_lists.cmake. A program that links the library of kernels sees what is in it (in
// backend/cpu/generated/kernels.hpp), also of ops whose headers it does not include. The declarations stand before all
// definitions, because g++ compiles the rules of a descriptor that is declared again after it.
#pragma once

#include <tokamax/base/requirements.hpp>

namespace tokamax {
struct op;
${declared_ops}}  // namespace tokamax
" library_lists)
report_problems("the lists of the library are complete")
