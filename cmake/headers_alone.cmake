# headers_alone.cmake: each header of FOLDER (of include/tokamax) compiles alone with COMPILER and the flags in the
# response file FLAGS.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/problems.cmake)

file(GLOB_RECURSE headers RELATIVE ${root}/include ${root}/include/tokamax/${FOLDER}/*.hpp)
set(count 0)
foreach(header IN LISTS headers ITEMS tokamax/${FOLDER}.hpp)
  if(EXISTS ${root}/include/${header})
    math(EXPR count "${count} + 1")
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "#include <${header}>"
                    COMMAND ${COMPILER} @${FLAGS} -Wall -Wextra -Wshadow -Wconversion -Werror -fsyntax-only -x c++ -
                    RESULTS_VARIABLE codes ERROR_VARIABLE output)
    if(NOT codes STREQUAL "0;0")
      problem("<${header}> does not compile alone:\n${output}")
    endif()
  endif()
endforeach()
report_problems("${count} headers of ${FOLDER} compile alone")
