# umbrellas.cmake: every folder's umbrella lists every header of the folder, and tokamax.hpp every umbrella.
#
#   cmake -P cmake/umbrellas.cmake           checks
#   cmake -DFIX=1 -P cmake/umbrellas.cmake   writes the umbrellas
#
# An umbrella is an opening comment, a map (one line a header: its first sentence), and the includes. The opening comment
# is kept as it is, all else is generated. A header with the line "// umbrella: no" stays out, and so does all in generated/.
# The rooms of a backend (its folders) are in the map alone: kernels include them, and are compiled once.
#
# backend/cpu/generated/kernels.hpp, which stands for backend/cpu/kernels/, is written and checked here too: it names every op
# whose descriptor asks for kernels_of<op>, and every linked<function>, so that a library can hold them all.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/problems.cmake)
set(include ${root}/include/tokamax)

# The text of umbrella `file` that lists `headers` (relative to include/tokamax).
function(umbrella_text file headers result)
  string(REGEX REPLACE "\\.hpp$" "" name ${file})
  set(head "// tokamax/${file}: all of ${name}.\n// SPDX-License-Identifier: Apache-2.0\n")
  if(EXISTS ${include}/${file})
    file(READ ${include}/${file} head)
    string(REGEX REPLACE "(//\n)?(//   |#pragma once).*" "" head "${head}")
  endif()
  set(width 0)
  foreach(header IN LISTS headers)
    string(LENGTH ${header} length)
    if(length GREATER width)
      set(width ${length})
    endif()
  endforeach()
  set(map "")
  set(includes "")
  foreach(header IN LISTS headers)
    set(first "")
    if(EXISTS ${include}/${header})
      file(STRINGS ${include}/${header} first LIMIT_COUNT 1)
    endif()
    string(REGEX REPLACE "^// tokamax/[^ ]*: *" "" first "${first}")
    string(REPLACE "\\;" ";" first "${first}")
    string(LENGTH ${header} length)
    math(EXPR padding "${width} + 2 - ${length}")
    string(REPEAT " " ${padding} padding)
    string(APPEND map "//   ${header}${padding}${first}\n")
    if(NOT header MATCHES "^backend/[^/]+/[^/]+/")
      string(APPEND includes "#include <tokamax/${header}>\n")
    endif()
  endforeach()
  set(${result} "${head}//\n${map}#pragma once\n\n${includes}" PARENT_SCOPE)
endfunction()

function(umbrella_write_or_check file headers)
  umbrella_text(${file} "${headers}" expected)
  write_or_check(${file} "${expected}")
endfunction()

function(write_or_check file expected)
  set(found "")
  if(EXISTS ${include}/${file})
    file(READ ${include}/${file} found)
  endif()
  if(found STREQUAL expected)
    return()
  elseif(FIX)
    file(WRITE ${include}/${file} "${expected}")
    message(STATUS "wrote include/tokamax/${file}")
  else()
    problem("include/tokamax/${file}: differs from its folder: run cmake -DFIX=1 -P cmake/umbrellas.cmake")
  endif()
endfunction()

file(GLOB_RECURSE headers RELATIVE ${include} ${include}/*/*.hpp)
list(SORT headers)
foreach(header IN LISTS headers)
  string(REGEX MATCH "^((backend|serve)/)?[^/]+" folder ${header})  # these two hold folders, not headers
  string(REGEX REPLACE "\\.hpp$" "" folder ${folder})
  file(STRINGS ${include}/${header} out REGEX "^// umbrella: no")
  if(NOT out AND NOT header MATCHES "/(generated|kernels)/" AND NOT header STREQUAL "${folder}.hpp")
    list(APPEND folders ${folder})
    list(APPEND headers_of_${folder} ${header})
  endif()
endforeach()
list(REMOVE_DUPLICATES folders)
set(umbrellas "")
foreach(folder IN LISTS folders)
  umbrella_write_or_check(${folder}.hpp "${headers_of_${folder}}")
  set(out "")
  if(EXISTS ${include}/${folder}.hpp)
    file(STRINGS ${include}/${folder}.hpp out REGEX "^// umbrella: no")
  endif()
  if(NOT out)
    list(APPEND umbrellas ${folder}.hpp)
  endif()
endforeach()
umbrella_write_or_check(tokamax.hpp "${umbrellas}")

# Ops with kernels, and what the CPU kernels of backend/cpu/kernels/ make of them. The library is compiled in parts, which
# base/compiled_once.hpp names; a kernel of none of these lists is in MOVEMENT, and an op without a kernel in ELEMENTWISE.
set(parts ELEMENTWISE REDUCE ROWS MOVEMENT PRODUCTS)
set(kernels_of_REDUCE argmax cumulative lanes reduce)
set(kernels_of_ROWS attention cross_entropy floats norm rotary_embedding softmax)
set(kernels_of_PRODUCTS conv dot_general gemm_precision linear_cross_entropy ragged_dot scaled_dot)
foreach(header IN LISTS headers)
  if(header MATCHES "^backend/cpu/kernels/(.*)\\.hpp$")
    set(name ${CMAKE_MATCH_1})
    set(part MOVEMENT)
    foreach(other IN ITEMS REDUCE ROWS PRODUCTS)
      if(name IN_LIST kernels_of_${other})
        set(part ${other})
      endif()
    endforeach()
    file(READ ${include}/${header} text)
    string(APPEND includes_of_${part} "  #include <tokamax/${header}>\n")
    string(REGEX MATCHALL "kernel\\(op_c<[a-z0-9_]+_p>" found "${text}")
    foreach(use IN LISTS found)
      string(REGEX REPLACE ".*<(.*)>" "\\1" name ${use})
      list(APPEND kernels ${name})
      set(part_of_${name} ${part})
      set(takes "")
      foreach(what IN ITEMS views producer)
        if(text MATCHES "takes_${what}<${name}> = true")
          list(APPEND takes ".${what} = true")
        endif()
      endforeach()
      list(JOIN takes ", " takes)
      string(APPEND facts_of_${part} "template <>\ninline constexpr linkage linked_kernel<${name}, cpu_tag>{true, {${takes}}};\n")
    endforeach()
  endif()
endforeach()

set(define "")
set(linked "")
foreach(header IN LISTS headers)
  file(READ ${include}/${header} text)
  set(needed OFF)
  if(header MATCHES "^(core|lax|random|numpy|transforms|ops)/")
    string(REGEX MATCHALL "kernels_of<[a-z0-9_]+_p>" found "${text}")
    foreach(use IN LISTS found)
      set(needed ON)
      string(REGEX REPLACE ".*<(.*)>" "\\1" name ${use})
      if(NOT DEFINED part_of_${name})
        set(part_of_${name} ELEMENTWISE)
      endif()
      list(APPEND with_kernels ${name})
      string(APPEND linked_in_${part_of_${name}} "TOKAMAX_KERNELS kernel_set find_kernels<${name}>();\n")
    endforeach()
    string(REGEX MATCHALL " schema<[a-z0-9_:]+>" found "${text}")
    list(REMOVE_DUPLICATES found)
    foreach(use IN LISTS found)
      set(needed ON)
      string(STRIP ${use} use)
      list(APPEND schemas ${use})
    endforeach()
    string(REPLACE ">\ninline constexpr op " "> " no_families "${text}")  # of those each program makes its own
    string(REGEX MATCHALL "\ninline constexpr op [a-z0-9_]+_p[{ ]" found "${no_families}")
    foreach(name IN LISTS found)
      string(REGEX REPLACE ".* ([a-z0-9_]+_p).*" "\\1" name "${name}")
      set(needed ON)
      string(APPEND linked "TOKAMAX_KERNELS const op* descriptor_of<${name}>();\n")
      list(APPEND ops "&${name}")
    endforeach()
  endif()
  if(NOT header MATCHES "base/linked.hpp|/generated/")
    string(REGEX MATCHALL "linked(_function)?<[a-z][a-z_:]+>" found "${text}")
    foreach(use IN LISTS found)
      string(REGEX REPLACE ".*<(.*)>" "\\1" name ${use})
      set(needed ON)
      list(APPEND functions ${name})
    endforeach()
  endif()
  if(text MATCHES "TOKAMAX_COMPILED_ONCE")
    set(needed ON)
  endif()
  if(needed AND header MATCHES "^(core|lax|random|numpy|transforms|ops|compiler|runtime)/")
    string(APPEND define "#include <tokamax/${header}>\n")
  endif()
endforeach()
list(REMOVE_DUPLICATES functions)
list(REMOVE_DUPLICATES schemas)
foreach(use IN LISTS schemas)
  string(APPEND linked "TOKAMAX_KERNELS attribute_schema ${use}();\n")
endforeach()
list(JOIN ops ",\n          " ops)
foreach(name IN LISTS functions)
  string(APPEND linked "TOKAMAX_KERNELS struct linked_function<${name}>;\n")
endforeach()
foreach(name IN LISTS kernels)
  if(NOT name IN_LIST with_kernels)
    problem("${name} has a kernel, so its descriptor must say .kernels = kernels_of<${name}>")
  endif()
endforeach()

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
set(sections "")
foreach(part IN LISTS parts)  # first what has a kernel, since it must be known before it is used
  if(DEFINED facts_of_${part})
    string(APPEND sections "
#if TOKAMAX_COMPILES(${part})
${includes_of_${part}}#else
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
write_or_check(backend/cpu/generated/kernels.hpp
"// tokamax/backend/cpu/generated/kernels.hpp: the kernels of all ops, compiled here or in a linked library.
// SPDX-License-Identifier: Apache-2.0
//
// Written by cmake/umbrellas.cmake, read at the end of execute.hpp. base/compiled_once.hpp says which file compiles what.
#pragma once

#include <tokamax/backend/cpu/kernels_of.hpp>
${define}${sections}${section}
#if TOKAMAX_COMPILES(RULES)
namespace tokamax {
TOKAMAX_BODY vec<const op*> library_ops() {
  return {${ops}};
}
}  // namespace tokamax
#endif
")
report_problems("umbrellas are complete")
