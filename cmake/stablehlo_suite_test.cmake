# stablehlo_suite_test.cmake: the programs of openxla/stablehlo that check themselves, stablehlo/testdata/*.mlir, run by
# tokamax_run. At least so many of them pass, and none is refused.
cmake_minimum_required(VERSION 3.25)
set(least 2280)

if(NOT SUITE)
  message("skipped: TOKAMAX_STABLEHLO_SUITE names no folder")
  return()
endif()
execute_process(COMMAND ${RUN} ${SUITE} --check --time OUTPUT_VARIABLE output RESULT_VARIABLE ignored)
message("${output}")
if(NOT output MATCHES "([0-9]+) programs: ([0-9]+) passed, [0-9]+ failed, ([0-9]+) refused")
  message(FATAL_ERROR "the suite: found no count of programs")
endif()
if(CMAKE_MATCH_2 LESS least OR CMAKE_MATCH_3 GREATER 0)
  message(FATAL_ERROR "the suite: found ${CMAKE_MATCH_2} passed and ${CMAKE_MATCH_3} refused of ${CMAKE_MATCH_1}, expected ${least} passed and none refused")
endif()
