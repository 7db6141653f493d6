# headers_alone.cmake: each header of FOLDER (of include/tokamax) compiles alone with COMPILER and the flags in the
# response file FLAGS. Where the line "// needs <file>" of a header names a file that is not there, it need not.
# What another header of the folder includes first is read there before all else, as if alone, and not compiled again.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/problems.cmake)

file(GLOB_RECURSE headers RELATIVE ${root}/include ${root}/include/tokamax/${FOLDER}/*.hpp)
if(EXISTS ${root}/include/tokamax/${FOLDER}.hpp)
  list(APPEND headers tokamax/${FOLDER}.hpp)
endif()
list(LENGTH headers count)
set(alone ${headers})
foreach(header IN LISTS headers)
  file(STRINGS ${root}/include/${header} needs_of_${header} REGEX "^// needs <.*>$")
  file(STRINGS ${root}/include/${header} first REGEX "^ *# *include" LIMIT_COUNT 1)
  if(NOT needs_of_${header} AND first MATCHES "^#include <(tokamax/[^>]+)>")
    list(REMOVE_ITEM alone ${CMAKE_MATCH_1})
  endif()
endforeach()

foreach(header IN LISTS alone)
  set(source "#include <${header}>")
  if(needs_of_${header})
    string(REPLACE "// needs " "" needs "${needs_of_${header}}")
    set(source "#if __has_include(${needs})\n${source}\n#endif")
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${source}"
                  COMMAND ${COMPILER} @${FLAGS} -Wall -Wextra -Wshadow -Wconversion -Werror -fsyntax-only -x c++ -
                  RESULTS_VARIABLE codes ERROR_VARIABLE output)
  if(NOT codes STREQUAL "0;0")
    problem("<${header}> does not compile alone:\n${output}")
  endif()
endforeach()
list(LENGTH alone compiled)
report_problems("${count} headers of ${FOLDER} compile alone (${compiled} files)")
