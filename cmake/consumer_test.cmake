# consumer_test.cmake: installs the tree that is configured in BUILD. In an empty folder it builds the README's program with
# the README's CMakeLists.txt, a second program that is slow if it is not optimised, and one that asks for a GPU. There is no
# build type, so the configuration must warn, and the programs must work; without a GPU the last one names what is missing.
# The package brings its libraries compiled; a project for another processor, or one that asks for it, compiles its own.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})
file(COPY ${root}/tests/consumer/CMakeLists.txt DESTINATION ${work}/project)
configure_file(${root}/examples/00_readme.cpp ${work}/project/main.cpp COPYONLY)
file(COPY ${root}/tests/consumer/chain.cpp DESTINATION ${work}/project)
file(COPY ${root}/tests/consumer/gpu.cpp DESTINATION ${work}/project)
file(APPEND ${work}/project/CMakeLists.txt
     "add_executable(gpu gpu.cpp)\ntarget_link_libraries(gpu PRIVATE tokamax::cuda)\ntarget_compile_options(gpu PRIVATE -O0)\n"
     "add_executable(chain chain.cpp)\ntarget_link_libraries(chain PRIVATE tokamax::tokamax)\n"
     "target_precompile_headers(chain PRIVATE <tokamax/tokamax.hpp>)\n")
set(configure "-S ${work}/project -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER=${CXX}")
foreach(command IN ITEMS
        "--build ${BUILD} --target tokamax_libraries"
        "--install ${BUILD} --prefix ${work}/prefix"
        "${configure} -B ${work}/build"
        "--build ${work}/build"
        "${configure} -B ${work}/other -DTOKAMAX_MARCH=native"
        "${configure} -B ${work}/own -DTOKAMAX_COMPILED=OFF -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0"
        "--build ${work}/own --target consumer")
  separate_arguments(words UNIX_COMMAND "${command}")
  execute_process(COMMAND ${CMAKE_COMMAND} ${words} ERROR_VARIABLE warnings ECHO_ERROR_VARIABLE
                  COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND all_warnings "${warnings}")
endforeach()
if(NOT all_warnings MATCHES "CMAKE_BUILD_TYPE is not set")
  message(FATAL_ERROR "a project without a build type: expected a warning")
endif()
foreach(build IN ITEMS build own)
  execute_process(COMMAND ${work}/${build}/consumer OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT output MATCHES "sin\\(1\\.5\\) in a batch of 64: 1\\.00")
    message(FATAL_ERROR "the README's program: expected 1.00 in a batch of 64")
  endif()
endforeach()
set(source tokamax_kernels/rules.cpp)  # which a project has that compiles the kernels
if(EXISTS ${work}/build/${source} OR NOT EXISTS ${work}/other/${source} OR NOT EXISTS ${work}/own/${source})
  message(FATAL_ERROR "expected libraries from the package, and own ones for another processor and with TOKAMAX_COMPILED=OFF")
endif()
file(GLOB_RECURSE rules ${work}/other/CMakeFiles/tokamax_kernels.dir/flags.make ${work}/other/build.ninja)
file(STRINGS ${rules} optimised REGEX "FLAGS.* -O2")
if(NOT optimised)
  message(FATAL_ERROR "a project without a build type: expected -O2 for its libraries")
endif()
execute_process(COMMAND ${work}/build/chain COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E env TOKAMAX_CUDA_DRIVER=/none/libcuda.so ${work}/build/gpu OUTPUT_VARIABLE output
                RESULT_VARIABLE code)
if(NOT code EQUAL 1 OR NOT output MATCHES "^4950\ncuda:0: no driver: /none/libcuda.so")
  message(FATAL_ERROR "the program that asks for a GPU: found status ${code} and ${output}")
endif()
