# compilers.cmake: the compilers that checks and compile benchmarks run beside the build, each with a response file.
# tokamax_compilers: names; tokamax_compiler_<name>: the program; tokamax_flags_<name>: the file of its flags.

set(tokamax_compilers own)
set(tokamax_compiler_own ${CMAKE_CXX_COMPILER})
set(flags_own ${TOKAMAX_GNU_FLAGS})
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  set(flags_own ${TOKAMAX_CLANG_FLAGS})
endif()

find_program(TOKAMAX_OTHER_CLANG NAMES clang++-19 clang++-20 clang++-18 clang++-17 clang++-16 DOC "a clang to check with")
if(TOKAMAX_OTHER_CLANG AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(APPEND tokamax_compilers clang)
  set(tokamax_compiler_clang ${TOKAMAX_OTHER_CLANG})
  set(flags_clang ${TOKAMAX_CLANG_FLAGS})
endif()

set(include_folders "$<TARGET_PROPERTY:tokamax_tokamax,INTERFACE_INCLUDE_DIRECTORIES>")  # /usr/include must keep its place
set(include_folders
    "$<FILTER:$<REMOVE_DUPLICATES:${include_folders}>,EXCLUDE,^(/usr/include|${PROJECT_SOURCE_DIR}/include)$>")
foreach(name IN LISTS tokamax_compilers)
  set(tokamax_flags_${name} ${PROJECT_BINARY_DIR}/flags.${name})
  list(JOIN flags_${name} "\n" flags)
  file(GENERATE OUTPUT ${tokamax_flags_${name}} CONTENT
       "-std=c++20\n${flags}\n-DFMT_HEADER_ONLY=1\n-I${PROJECT_SOURCE_DIR}/include\n-I${PROJECT_SOURCE_DIR}/tests
$<$<BOOL:${include_folders}>:-isystem\n$<JOIN:${include_folders},\n-isystem\n>>\n")
endforeach()
