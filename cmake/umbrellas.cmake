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

# Ops with kernels, and what the CPU kernels of backend/cpu/kernels/ make of them.
set(define "")
set(linked "")
set(includes "")
foreach(header IN LISTS headers)
  file(READ ${include}/${header} text)
  set(needed OFF)
  if(header MATCHES "^(core|lax|random|numpy|transforms|ops)/")
    string(REGEX MATCHALL "kernels_of<[a-z0-9_]+_p>" found "${text}")
    foreach(use IN LISTS found)
      set(needed ON)
      string(APPEND linked "TOKAMAX_KERNELS kernel_set ${use}();\n")
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
  if(header MATCHES "^backend/cpu/kernels/")
    string(APPEND includes "  #include <tokamax/${header}>\n")
    string(REGEX MATCHALL "kernel\\(op_c<[a-z0-9_]+_p>" found "${text}")
    foreach(use IN LISTS found)
      string(REGEX REPLACE ".*<(.*)>" "\\1" name ${use})
      list(APPEND kernels ${name})
      set(how dense)
      if(text MATCHES "takes_views<${name}> = true")
        set(how strided)
      endif()
      string(APPEND facts "template <>\ninline constexpr linkage linked_kernel<${name}, cpu_tag> = linkage::${how};\n")
    endforeach()
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
  if(NOT linked MATCHES "kernels_of<${name}>")
    problem("${name} has a kernel, so its descriptor must say .kernels = kernels_of<${name}>")
  endif()
endforeach()
write_or_check(backend/cpu/generated/kernels.hpp
"// tokamax/backend/cpu/generated/kernels.hpp: the kernels of all ops, compiled here or in a linked library.
// SPDX-License-Identifier: Apache-2.0
//
// Written by cmake/umbrellas.cmake, read at the end of execute.hpp. Programs that define TOKAMAX_SEPARATE_KERNELS link a library that is one file
// compiled with TOKAMAX_INSTANTIATE_KERNELS.
#pragma once

#include <tokamax/backend/cpu/kernels_of.hpp>
${define}
#if defined(TOKAMAX_INSTANTIATE_KERNELS) || !defined(TOKAMAX_SEPARATE_KERNELS)
${includes}#else
namespace tokamax {
${facts}}  // namespace tokamax
#endif

#if defined(TOKAMAX_INSTANTIATE_KERNELS)
  #define TOKAMAX_KERNELS template
#elif defined(TOKAMAX_SEPARATE_KERNELS)
  #define TOKAMAX_KERNELS extern template
#endif
#if defined(TOKAMAX_KERNELS)
namespace tokamax {
${linked}}  // namespace tokamax
  #undef TOKAMAX_KERNELS
#endif

#if defined(TOKAMAX_COMPILED_ONCE)
namespace tokamax {
TOKAMAX_COMPILED_ONCE vec<const op*> library_ops() {
  return {${ops}};
}
}  // namespace tokamax
#endif
")
report_problems("umbrellas are complete")
