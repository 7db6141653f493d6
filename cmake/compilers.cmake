# compilers.cmake: the compilers that checks and compile benchmarks run beside the build, each with a response file.
# tokamax_compilers: names (g++, clang++); tokamax_compiler_<name>: the program; tokamax_flags_<name>: the flags' file.

include_guard(DIRECTORY)

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(tokamax_compilers g++)
  set(tokamax_compiler_g++ ${CMAKE_CXX_COMPILER})
  find_program(TOKAMAX_CLANG NAMES clang++-19 clang++-20 clang++-18 clang++-17 clang++-16 DOC "a clang to check with")
else()
  set(TOKAMAX_CLANG ${CMAKE_CXX_COMPILER})
endif()
set(flags_g++ ${TOKAMAX_GNU_FLAGS})
if(TOKAMAX_CLANG)
  list(APPEND tokamax_compilers clang++)
  set(tokamax_compiler_clang++ ${TOKAMAX_CLANG})
  set(flags_clang++ ${TOKAMAX_CLANG_FLAGS})
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

# nvcc compiles the host side with g++ and takes its flags through -Xcompiler.
find_program(TOKAMAX_NVCC nvcc PATHS /usr/local/cuda/bin DOC "the CUDA compiler, to check with")
set(tokamax_flags_nvcc ${PROJECT_BINARY_DIR}/flags.nvcc)
list(JOIN TOKAMAX_NVCC_FLAGS "\n" flags)
list(JOIN TOKAMAX_GNU_FLAGS "," host_flags)
file(GENERATE OUTPUT ${tokamax_flags_nvcc} CONTENT
     "-std=c++20\n-x cu\n${flags}\n-Xcompiler ${host_flags}\n-DFMT_HEADER_ONLY=1\n-I${PROJECT_SOURCE_DIR}/include
$<$<BOOL:${include_folders}>:-isystem $<JOIN:${include_folders},\n-isystem >>\n")
