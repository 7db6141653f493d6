# stablehlo_xla_test.cmake: programs of ours as StableHLO text, run in XLA by the jaxlib of PYTHON (the environment's TOKAMAX_JAX_PYTHON, or
# python3): the same values. TEST is the test program, which writes them into the folder WORK; PROGRAMS has those of check_op, if any.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
set(python python3)
if(DEFINED ENV{TOKAMAX_JAX_PYTHON})
  set(python $ENV{TOKAMAX_JAX_PYTHON})
endif()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} -E env TOKAMAX_PROGRAMS=${PROGRAMS} TOKAMAX_STABLEHLO_OUT=${WORK}
                        ${TEST} "to_stablehlo: programs*" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${python} ${root}/tests/golden/run_stablehlo.py ${WORK} OUTPUT_VARIABLE output RESULT_VARIABLE code)
message("${output}")
if(NOT code EQUAL 0)
  message(FATAL_ERROR "exit status: found ${code}, expected 0")
endif()
