# tests_alone.cmake: each tests/FOLDER/**.cpp compiles with COMPILER and the flags in the response file FLAGS as it stands:
# without the precompiled header of the test programs, which would hide an include that is missing.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/problems.cmake)

file(GLOB_RECURSE tests RELATIVE ${root}/tests ${root}/tests/${FOLDER}/*.cpp)
list(FILTER tests EXCLUDE REGEX "\\.fail\\.cpp$")
foreach(test IN LISTS tests)
  execute_process(COMMAND ${COMPILER} @${FLAGS} -DTOKAMAX_SEPARATE_KERNELS -fsyntax-only ${root}/tests/${test}
                  RESULT_VARIABLE code ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    problem("tests/${test} does not compile alone:\n${output}")
  endif()
endforeach()
list(LENGTH tests count)
report_problems("${count} tests of ${FOLDER} compile alone")
