# cuda_precompile_test.cmake: beside PROGRAM lies code for each of ARCHITECTURES, as tokamax_cuda_precompile has made it. Other
# lists of architectures are refused by name, and so is a folder that cannot be written.
cmake_minimum_required(VERSION 3.25)
file(GLOB files ${PROGRAM}.cubins/*.cubin)
string(REPLACE "," ";" architectures "${ARCHITECTURES}")
foreach(architecture IN LISTS architectures)
  set(count_${architecture} 0)
  foreach(file IN LISTS files)
    file(STRINGS ${file} key LIMIT_COUNT 3 LIMIT_INPUT 200)  # what it is, the size of the key, the key
    if(key MATCHES "^tokamax device code[^;]*;[0-9]+;${architecture} ")
      math(EXPR count_${architecture} "${count_${architecture}} + 1")
    endif()
  endforeach()
  message(STATUS "${architecture}: ${count_${architecture}} texts")
  if(count_${architecture} LESS 1)
    message(FATAL_ERROR "${PROGRAM}.cubins: found no code for ${architecture}")
  endif()
endforeach()

function(expect_failure text)  # variables of the environment...
  execute_process(COMMAND ${CMAKE_COMMAND} -E env ${ARGN} ${PROGRAM} RESULT_VARIABLE code OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(code EQUAL 0 OR NOT output MATCHES "${text}")
    message(FATAL_ERROR "with ${ARGN}: found status ${code} and ${output}, expected ${text}")
  endif()
endfunction()
expect_failure("TOKAMAX_CUDA_PRECOMPILE: found 'volta'" TOKAMAX_CUDA_PRECOMPILE=volta)
expect_failure("no /none/libnvrtc.so" TOKAMAX_CUDA_PRECOMPILE=sm_80 TOKAMAX_CUDA_NVRTC=/none/libnvrtc.so)
expect_failure("folder of code" TOKAMAX_CUDA_PRECOMPILE=sm_80 TOKAMAX_CUDA_CODE=/dev/null/folder)
