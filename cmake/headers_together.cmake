# headers_together.cmake: all headers of include/tokamax in one file compile with COMPILER and the flags in the response file FLAGS:
# in gnu++20, which is CMake's default, after the macros of Linux, X11 and Qt (tests/odr/foreign_macros.hpp). What programs see that
# link the libraries compiles in C++23, without a change of sign by conversion.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/problems.cmake)

# Headers of other libraries are read before the macros, which clash with them too.
file(GLOB_RECURSE headers RELATIVE ${root}/include ${root}/include/tokamax/*.hpp)
list(SORT headers)
set(others "#define PCRE2_CODE_UNIT_WIDTH 0\n")  # PCRE2 wants to know
set(own "")
set(own_umbrellas "")
foreach(header IN LISTS headers)
  file(STRINGS ${root}/include/${header} lines REGEX "^ *# *include <.*>|^// needs <.*>$")
  set(needs "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "<([^>]+)>" file "${line}")
    if(line MATCHES "^// needs ")
      list(APPEND needs "__has_include(${file})")
    elseif(NOT file MATCHES "<tokamax")
      string(APPEND others "#if __has_include(${file})\n#include ${file}\n#endif\n")
    endif()
  endforeach()
  set(include "#include <${header}>\n")
  if(needs)
    list(JOIN needs " && " needs)
    set(include "#if ${needs}\n${include}#endif\n")
  endif()
  string(APPEND own "${include}")
  if(header MATCHES "^tokamax/(backend/)?[a-z]+\\.hpp$")
    string(APPEND own_umbrellas "${include}")
  endif()
endforeach()

function(compile source)
  file(WRITE ${root}/build/headers_together.cpp "${source}")
  execute_process(COMMAND ${COMPILER} @${FLAGS} ${ARGN} -Wall -Wextra -Wshadow -Wconversion -Werror -fsyntax-only
                          ${root}/build/headers_together.cpp RESULT_VARIABLE code ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    problem("all headers together, with ${ARGN}:\n${output}")
  endif()
endfunction()
compile("${others}#include \"odr/foreign_macros.hpp\"\n${own}" -std=gnu++20)
compile("#include <tokamax/tokamax.hpp>\n${own_umbrellas}" -std=c++23 -Wsign-conversion -DTOKAMAX_SEPARATE_KERNELS -DTOKAMAX_SEPARATE_FILES
        -DTOKAMAX_SEPARATE_CUDA -DTOKAMAX_SEPARATE_TEXT)
list(LENGTH headers count)
report_problems("${count} headers compile together")
