# interchange_test.cmake: PROGRAM, the tests of zstd, writes a folder and files into the folder WORK, and PYTHON reads them by Orbax and
# array_record, where these are installed.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
execute_process(COMMAND ${PYTHON} -c "import orbax.checkpoint" RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
if(NOT code EQUAL 0)
  message("skipped: no Python with orbax-checkpoint (${PYTHON}; TOKAMAX_PYTHON names another)")
  return()
endif()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(ENV{TOKAMAX_INTERCHANGE} ${WORK})
execute_process(COMMAND ${PROGRAM} "[.interchange]" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PYTHON} ${root}/tests/golden/check_interchange.py ${WORK} COMMAND_ERROR_IS_FATAL ANY)
