# cuda_precompile.cmake: compiles the GPU code of a program when it is built, so that its first run on a GPU compiles nothing.
# Installed: find_package(tokamax) reads it too.
#
#   tokamax_cuda_precompile(target ARCHITECTURES sm_90a [sm_100a ...] [ARGUMENTS argument ...])
#
# After each build of `target` the program runs once with these arguments, on this machine and without a GPU: memory of GPUs
# is there and kernels do nothing, so results are zeros, and NVRTC compiles what the run would launch. Choose arguments with
# which it comes to an end soon after it has called all that it calls, such as one step of training and one evaluation.
# A folder <program>.cubins appears beside the program, which finds it there; install it with the program:
#
#   install(DIRECTORY $<TARGET_FILE:target>.cubins DESTINATION ${CMAKE_INSTALL_BINDIR})
#
# Code is found by its text and architecture. What the folder lacks, such as code for other shapes, is compiled when it runs.
# The machine that builds needs NVRTC of CUDA 12.4 or newer; the one with the GPU then needs none.
# TOKAMAX_CUDA_PRECOMPILE=sm_90a program   is the same by hand, and TOKAMAX_CUDA_CODE names another folder.
include_guard()

function(tokamax_cuda_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "" "ARCHITECTURES;ARGUMENTS")
  if(NOT TARGET ${target} OR NOT given_ARCHITECTURES OR given_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tokamax_cuda_precompile(${ARGV}): expected a target and ARCHITECTURES, such as sm_90a")
  endif()
  find_package(CUDAToolkit QUIET)
  list(JOIN given_ARCHITECTURES "," architectures)
  set(code $<TARGET_FILE:${target}>.cubins)
  set(environment TOKAMAX_CUDA_PRECOMPILE=${architectures} TOKAMAX_CUDA_CODE=${code})
  if(CUDAToolkit_FOUND AND NOT DEFINED ENV{CUDA_HOME})  # where the program looks for NVRTC
    list(APPEND environment CUDA_HOME=${CUDAToolkit_LIBRARY_ROOT})
  endif()
  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/${target}.precompiled)
  add_custom_command(OUTPUT ${stamp} DEPENDS ${target} VERBATIM
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${code}
    COMMAND ${CMAKE_COMMAND} -E env ${environment} $<TARGET_FILE:${target}> ${given_ARGUMENTS}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    COMMENT "Compiling the GPU code of ${target} for ${architectures}")
  add_custom_target(${target}_precompiled ALL DEPENDS ${stamp})
endfunction()
