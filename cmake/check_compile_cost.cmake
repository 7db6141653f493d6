# check_compile_cost.cmake: how many lines of tokamax the compiler reads for tokamax.hpp, and for a further header beside it. On one
# machine 1000 lines take g++ 0.1 s, so this says without a clock whether programs begin to pay for what they do not use.
#
#   cmake [-DCOMPILER=g++] [-DFLAGS=file] -P cmake/check_compile_cost.cmake
#
# Lines without text, comments and standard headers do not count. Who raises a limit says in the commit what it is for; what few
# programs use is left to a further header (cmake/umbrellas.cmake says how).
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/problems.cmake)
set(most_lines tokamax=27500)
set(most_more_lines backend/cuda=150 complex=1200 kernel=1900 linalg=1500 numpy=900 ops=2600 scipy=2300 text=400)

if(NOT COMPILER)
  set(COMPILER g++)
endif()
set(flags -std=c++20 -march=x86-64-v3 -DFMT_HEADER_ONLY=1 -I${root}/include)
if(FLAGS)
  set(flags @${FLAGS})
endif()

# The lines that a file with these headers consists of, apart from those of other libraries.
function(lines_of headers result)
  list(TRANSFORM headers REPLACE "(.+)" "#include <tokamax/\\1.hpp>")
  list(JOIN headers "\n" text)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${text}"
                  COMMAND ${COMPILER} ${flags} -DTOKAMAX_SEPARATE_KERNELS -DTOKAMAX_SEPARATE_FILES -DTOKAMAX_SEPARATE_CUDA
                          -DTOKAMAX_SEPARATE_TEXT -E -x c++ -
                  COMMAND awk "/^# /{own = /include\\/tokamax\\//; next} own && NF {++n} END {print n + 0}"
                  RESULTS_VARIABLE codes OUTPUT_VARIABLE lines ERROR_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT codes STREQUAL "0;0;0")
    message(FATAL_ERROR "${headers}: cannot be read:\n${output}")
  endif()
  set(${result} ${lines} PARENT_SCOPE)
endfunction()

lines_of(tokamax lines_of_tokamax)
set(found "tokamax ${lines_of_tokamax}")
string(REPLACE "tokamax=" "" limit ${most_lines})
if(lines_of_tokamax GREATER limit)
  problem("tokamax.hpp: ${lines_of_tokamax} lines, expected at most ${limit}")
endif()
foreach(entry IN LISTS most_more_lines)
  string(REGEX MATCH "^(.+)=(.+)$" unused ${entry})
  set(header ${CMAKE_MATCH_1})
  set(limit ${CMAKE_MATCH_2})
  lines_of("${header};tokamax" lines)
  math(EXPR more "${lines} - ${lines_of_tokamax}")
  string(APPEND found ", ${header} +${more}")
  if(more GREATER limit)
    problem("${header}.hpp: ${more} lines beside tokamax.hpp, expected at most ${limit}")
  endif()
endforeach()
report_problems("lines to compile: ${found}")
