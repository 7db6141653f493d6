# openai_test.cmake: PROGRAM, the tests of serve, writes a tiny model into the folder WORK, SERVE serves it, and PYTHON talks to it by the
# package openai, where that, jsonschema and prometheus_client are installed.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
execute_process(COMMAND ${PYTHON} -c "import openai, jsonschema, prometheus_client" RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
if(NOT code EQUAL 0)
  message("skipped: no Python with openai, jsonschema and prometheus_client (${PYTHON}; TOKAMAX_PYTHON names another)")
  return()
endif()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(ENV{TOKAMAX_OPENAI} ${WORK}/tiny)
execute_process(COMMAND ${PROGRAM} "[.openai]" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PYTHON} ${root}/tests/golden/check_openai.py ${SERVE} ${WORK}/tiny COMMAND_ERROR_IS_FATAL ANY)
