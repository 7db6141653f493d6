# headers_alone.cmake: each header of FOLDER (of include/tokamax) compiles alone with COMPILER and the flags in the
# response file FLAGS. Where the line "// needs <file>" of a header names a file that is not there, it need not.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/problems.cmake)

file(GLOB_RECURSE headers RELATIVE ${root}/include ${root}/include/tokamax/${FOLDER}/*.hpp)
set(count 0)
foreach(header IN LISTS headers ITEMS tokamax/${FOLDER}.hpp)
  if(EXISTS ${root}/include/${header})
    math(EXPR count "${count} + 1")
    set(source "#include <${header}>")
    file(STRINGS ${root}/include/${header} needs REGEX "^// needs <.*>$")
    if(needs)
      string(REPLACE "// needs " "" needs "${needs}")
      set(source "#if __has_include(${needs})\n${source}\n#endif")
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${source}"
                    COMMAND ${COMPILER} @${FLAGS} -Wall -Wextra -Wshadow -Wconversion -Werror -fsyntax-only -x c++ -
                    RESULTS_VARIABLE codes ERROR_VARIABLE output)
    if(NOT codes STREQUAL "0;0")
      problem("<${header}> does not compile alone:\n${output}")
    endif()
  endif()
endforeach()
report_problems("${count} headers of ${FOLDER} compile alone")
