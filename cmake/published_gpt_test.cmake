# published_gpt_test.cmake: nanoGPT's published setting for a CPU, on Tiny Shakespeare's characters (TEXT): validation loss
# at most 1.90 after 2000 steps, where nanoGPT reports 1.88. Skipped without the text.
cmake_minimum_required(VERSION 3.25)
if(NOT EXISTS "${TEXT}")
  message(STATUS "skipped: no text (-DTOKAMAX_TINYSHAKESPEARE=file, when configuring or in the environment)")
  return()
endif()
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${TRAINER} --data ${TEXT} --characters --layers 4 --heads 4 --width 128 --context 64 --batch 12
                        --steps 2000 --out ${WORK}
                OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "validation loss ([0-9.]+)")
  message(FATAL_ERROR "no validation loss in the output")
endif()
if(CMAKE_MATCH_1 GREATER 1.90)
  message(FATAL_ERROR "validation loss: found ${CMAKE_MATCH_1}, expected at most 1.90")
endif()
message(STATUS "validation loss ${CMAKE_MATCH_1}")
