# bench.cmake: runs the benchmarks and puts the peers' figures beside ours.
#
#   cmake [-DSUITE=train|gemm|compile|...] [-DPEERS=folder] [-DCXX=compiler] -P cmake/bench.cmake
#
# Each program bench/**/<suite>.cpp and each peers' script bench/peers/<suite>.py prints one JSON line a case: suite, case,
# impl, value, unit. PEERS is a Python virtual environment that holds the peers (torch, jax). bench/support/table.cpp prints
# all of them as a table, with how many times better we are than the best peer.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/setup.cmake)

set(build ${root}/build/bench)
tokamax_configure(${build} -DTOKAMAX_BUILD_TESTS=OFF -DTOKAMAX_BUILD_EXAMPLES=OFF -DTOKAMAX_BUILD_APPS=OFF)

file(GLOB_RECURSE programs ${root}/bench/*.cpp)
list(FILTER programs EXCLUDE REGEX "/bench/(compile|support)/")
list(APPEND programs compile)
set(lines "")
set(failed "")
foreach(program IN LISTS programs)
  cmake_path(GET program STEM suite)
  if(SUITE AND NOT suite STREQUAL SUITE)
    continue()
  endif()
  tokamax_build(${build} tokamax_bench_${suite})
  message(STATUS "${suite}")
  execute_process(COMMAND ${build}/tokamax_bench_${suite} OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    list(APPEND failed ${suite})
  endif()
  string(APPEND lines "${output}")
  if(PEERS AND EXISTS ${root}/bench/peers/${suite}.py)
    execute_process(COMMAND ${PEERS}/bin/python ${root}/bench/peers/${suite}.py OUTPUT_VARIABLE output
                    ECHO_OUTPUT_VARIABLE)
    string(APPEND lines "${output}")
  endif()
endforeach()

file(WRITE ${build}/figures.jsonl "${lines}")
tokamax_build(${build} tokamax_bench_table)
message("")
execute_process(COMMAND ${build}/tokamax_bench_table ${build}/figures.jsonl COMMAND_ERROR_IS_FATAL ANY)
if(failed)
  message(FATAL_ERROR "failed: ${failed}")
endif()
