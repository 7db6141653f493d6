# gdb_test.cmake: gdb shows arrays of PROGRAM (tests/consumer/arrays.cpp, compiled with -g) as cmake/gdb/tokamax.py says.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
find_program(gdb gdb)
if(NOT gdb)
  message("skipped: gdb is not installed")
  return()
endif()
execute_process(COMMAND ${gdb} -q -batch -nx -ex "source ${root}/cmake/gdb/tokamax.py" -ex "break look" -ex run -ex up
                        -ex "print floats" -ex "print tensor" -ex "print half" -ex "print literal" -ex "print abstract"
                        -ex "print moved" ${PROGRAM}
                OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(errors MATCHES "ptrace|not supported on this target|Python scripting is not supported")
  message("skipped: gdb cannot run a program here: ${errors}")
  return()
endif()
foreach(expected IN ITEMS "f32[2,4] {0, 1, 2, 3, 4, 5, ...}" "i32[2] {7, -8}" "bf16[1] {0.5}" "f32[] = 2.5 everywhere"
                          "f32[3] (abstract)" "f32[2] (moved from)")
  string(FIND "${output}" "${expected}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "gdb: expected ${expected}, found\n${output}\n${errors}")
  endif()
endforeach()
message(STATUS "gdb shows arrays")
