# storm_test.cmake: builds tests/storm with COMPILER and the flags in the file FLAGS, and lets one of its storms loose on
# TRAINER: STORM=faults (every STRIDE-th system call fails; 1) or STORM=kills (KILLS of them; 300). Works in the folder WORK.
# The environment's TOKAMAX_STRIDE and TOKAMAX_KILLS come before these numbers.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
foreach(setting IN ITEMS "STRIDE 1" "KILLS 300")
  separate_arguments(setting)
  list(GET setting 0 name)
  list(GET setting 1 ${name})
  if(DEFINED ENV{TOKAMAX_${name}})
    set(${name} $ENV{TOKAMAX_${name}})
  endif()
endforeach()
file(MAKE_DIRECTORY ${WORK})
set(compile ${COMPILER} @${FLAGS} -O1)
if(STORM STREQUAL faults)
  execute_process(COMMAND ${compile} -shared -fPIC ${root}/tests/storm/inject.cpp -o ${WORK}/inject.so -ldl
                  COMMAND_ERROR_IS_FATAL ANY)
  set(arguments ${WORK}/inject.so ${root}/include/tokamax/models/gpt.hpp ${WORK}/work ${STRIDE})
else()
  set(arguments ${root}/include/tokamax/models/gpt.hpp ${WORK}/work ${KILLS})
endif()
execute_process(COMMAND ${compile} ${root}/tests/storm/${STORM}.cpp -o ${WORK}/${STORM} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/${STORM} ${TRAINER} ${arguments} COMMAND_ERROR_IS_FATAL ANY)
