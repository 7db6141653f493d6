# quickstart.cmake: trains a small GPT on a text and shows what it learned.
#
#   cmake [-DDATA=file] [-DSTEPS=n] [-DCXX=compiler] ... -P cmake/quickstart.cmake
#
# The text is the library's own sources unless DATA names another. OUT, LAYERS, WIDTH, HEADS, CONTEXT, BATCH, STEPS,
# RESUME=ON and SAMPLE="prompt" go to tokamax_train as its options of the same names.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/setup.cmake)

set(build ${root}/build/quickstart)
tokamax_configure(${build} -DTOKAMAX_BUILD_TESTS=OFF -DTOKAMAX_BUILD_EXAMPLES=OFF -DTOKAMAX_BUILD_BENCH=OFF)
tokamax_build(${build} tokamax_train)

if(NOT DEFINED OUT)
  set(OUT ${root}/runs/quickstart)
endif()
cmake_path(ABSOLUTE_PATH OUT)
file(MAKE_DIRECTORY ${OUT})
if(NOT DEFINED DATA)
  set(DATA ${OUT}/sources.txt)
  file(GLOB_RECURSE sources ${root}/include/tokamax/*.hpp)
  list(SORT sources)
  file(WRITE ${DATA} "")
  foreach(source IN LISTS sources)
    file(READ ${source} text)
    file(APPEND ${DATA} "${text}\n")
  endforeach()
endif()
cmake_path(ABSOLUTE_PATH DATA)

set(options "")
foreach(name IN ITEMS DATA OUT LAYERS WIDTH HEADS CONTEXT BATCH STEPS SAMPLE)
  if(DEFINED ${name})
    string(TOLOWER ${name} option)
    list(APPEND options --${option} "${${name}}")
  endif()
endforeach()
if(RESUME)
  list(APPEND options --resume)
endif()
if(NOT DEFINED ENV{GOMP_SPINCOUNT})
  set(ENV{GOMP_SPINCOUNT} 20000)  # threads that wait for others soon sleep, so that a busy machine is not slower still
endif()
execute_process(COMMAND ${build}/tokamax_train ${options} RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "tokamax_train: exit status ${code}")
endif()
message(STATUS "results are in ${OUT}")
message(STATUS "the trainer is ${build}/tokamax_train (see --help)")
