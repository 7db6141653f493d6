# test.cmake: sets up, builds and tests everything; the exit status says whether all passed.
#
#   cmake [-DCXX=clang++-19] [-DSANITIZE=address,undefined] [-DFOLDERS="data;runtime"] [-DONLY=regex] [-DSLOW=ON]
#         -P cmake/test.cmake
#
# Checks that need no build come first and stop the run when they fail. A run with CXX, SANITIZE or FOLDERS leaves them out,
# for they would tell the same again; SANITIZE (also: thread) leaves out the examples, programs and benchmarks too. FOLDERS
# builds and runs the test programs of these folders of tests/ only; ONLY runs the tests whose names match; SLOW=ON adds
# those that take minutes.
cmake_minimum_required(VERSION 3.25)
list(APPEND wanted catch2 catch2)
include(${CMAKE_CURRENT_LIST_DIR}/setup.cmake)

set(name test)
set(options "")
if(CXX)
  string(APPEND name -${CXX})
endif()
if(SANITIZE)
  string(APPEND name -${SANITIZE})
  list(APPEND options -DTOKAMAX_SANITIZE=${SANITIZE} -DTOKAMAX_BUILD_EXAMPLES=OFF -DTOKAMAX_BUILD_APPS=OFF
       -DTOKAMAX_BUILD_BENCH=OFF)
  if(SANITIZE STREQUAL thread)
    list(APPEND options -DTOKAMAX_OPENMP=OFF)
  endif()
endif()
string(MAKE_C_IDENTIFIER ${name} name)
set(build ${root}/build/${name})
tokamax_configure(${build} ${options})

# Runs the tests that ctest selects by the arguments; `passed` and `failed` add up.
set(passed 0)
set(failed 0)
function(run_tests)
  set(select ${ARGN})
  if(ONLY)
    list(APPEND select -R ${ONLY})
  endif()
  execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${build} --parallel ${jobs} --output-on-failure ${select}
                  OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE RESULT_VARIABLE code)
  if(output MATCHES "tests passed, ([0-9]+) tests? failed out of ([0-9]+)")
    math(EXPR passed "${passed} + ${CMAKE_MATCH_2} - ${CMAKE_MATCH_1}")
    math(EXPR failed "${failed} + ${CMAKE_MATCH_1}")
  elseif(NOT code EQUAL 0)
    math(EXPR failed "${failed} + 1")
  endif()
  set(passed ${passed} PARENT_SCOPE)
  set(failed ${failed} PARENT_SCOPE)
endfunction()

if(NOT CXX AND NOT SANITIZE AND NOT FOLDERS)
  run_tests(-L check)
endif()
if(failed EQUAL 0)
  list(TRANSFORM FOLDERS PREPEND tokamax_test_ OUTPUT_VARIABLE targets)
  tokamax_build(${build} ${targets})
  list(JOIN FOLDERS "|" folders)
  if(FOLDERS)
    run_tests(-R "^unit\\.(${folders})$")
  else()
    if(SLOW)
      run_tests(-LE check)
    else()
      run_tests(-LE "check|slow")
    endif()
  endif()
endif()
message(STATUS "tests: ${passed} passed, ${failed} failed")
if(NOT failed EQUAL 0)
  message(FATAL_ERROR "tests failed")
endif()
