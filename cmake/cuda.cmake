# cuda.cmake: on a machine with a GPU builds, tests and measures all that concerns it, in one go and without a network.
#
#   cmake [-DPEERS=folder] [-DCXX=compiler] [-DSETUP=ON] -P cmake/cuda.cmake
#
# Without a GPU it says what is missing and fails. The tests are those of the backend, the contracts of ops and the reference
# values on the GPU, and training that goes on from the CPU's checkpoint. The measurements are those of bench/backend/cuda,
# beside PyTorch and JAX if PEERS is a Python virtual environment that holds them.
cmake_minimum_required(VERSION 3.25)
if(NOT DEFINED SETUP)
  set(SETUP OFF)
endif()
list(APPEND wanted catch2 catch2)
include(${CMAKE_CURRENT_LIST_DIR}/setup.cmake)
set(build ${root}/build/cuda)
tokamax_configure(${build} -DTOKAMAX_BUILD_EXAMPLES=OFF)

tokamax_build(${build} tokamax_gpu)
execute_process(COMMAND ${build}/tokamax_gpu RESULT_VARIABLE code OUTPUT_VARIABLE output)
if(NOT code EQUAL 0 OR NOT output MATCHES "cuda:0: 4950\n")
  string(REGEX REPLACE "^4950\n" "" output "${output}")
  string(STRIP "${output}" output)
  message(FATAL_ERROR "no GPU: found ${output} (status ${code})")
endif()

set(failed "")
function(run name)  # name, command...
  message(STATUS "${name}")
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${build} RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    set(failed "${failed}\n  ${name}: status ${code}" PARENT_SCOPE)
  endif()
endfunction()

set(folders lax numpy ops optim transforms)
list(TRANSFORM folders PREPEND tokamax_test_ OUTPUT_VARIABLE programs)
tokamax_build(${build} tokamax_test_backend ${programs} tokamax_train tokamax_bench_gpt2 tokamax_bench_gpu_ops)
run("tests of the backend" ${build}/tokamax_test_backend)
foreach(folder IN LISTS folders)
  run("tests of ${folder} on the GPU" ${CMAKE_COMMAND} -E env TOKAMAX_TEST_DEVICE=cuda ${build}/tokamax_test_${folder})
endforeach()

set(work ${build}/train)
file(REMOVE_RECURSE ${work})
set(train ${build}/tokamax_train --data ${root}/examples/tokamax_train.cpp --out ${work} --width 64 --layers 2 --save-every 20
          --eval-every 20)
run("training on the CPU" ${train} --steps 20)
run("training goes on on the GPU" ${train} --steps 40 --warmup 10 --resume --allow-changes --device cuda)

run("GPT-2" ${build}/tokamax_bench_gpt2)
run("parts of it" ${build}/tokamax_bench_gpu_ops)
if(PEERS)
  run("GPT-2 of the peers" ${PEERS}/bin/python ${root}/bench/peers/gpt2.py)
  run("parts of it by PyTorch" ${PEERS}/bin/python ${root}/bench/peers/gpu_ops.py)
endif()
if(failed)
  message(FATAL_ERROR "failed: ${failed}")
endif()
message(STATUS "everything has passed on the GPU")
