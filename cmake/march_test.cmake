# march_test.cmake: a program and a library of kernels that are compiled for vectors of different widths must not link.
# -DCXX=compiler -DAR=archiver -DWORK=folder
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
file(MAKE_DIRECTORY ${WORK})

function(link_with march result)
  set(compile ${CXX} -std=c++20 -DTOKAMAX_SEPARATE_KERNELS -I${root}/include -c ${root}/tests/odr/march.cpp)
  execute_process(COMMAND ${compile} -march=x86-64-v3 -o ${WORK}/one.o COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${compile} -march=${march} -DOTHER -o ${WORK}/other.o COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE ${WORK}/libother.a)
  execute_process(COMMAND ${AR} rcs ${WORK}/libother.a ${WORK}/other.o COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CXX} ${WORK}/one.o ${WORK}/libother.a -o ${WORK}/both RESULT_VARIABLE code ERROR_VARIABLE errors)
  set(${result} "${code} ${errors}" PARENT_SCOPE)
endfunction()

link_with(haswell same)
if(NOT same MATCHES "^0 ")
  message(FATAL_ERROR "x86-64-v3 with haswell: found ${same}, expected a program")
endif()
link_with(x86-64-v4 different)
if(NOT different MATCHES "^[^0].*tokamax_wants_one_march_in_all_files")
  message(FATAL_ERROR "x86-64-v3 with x86-64-v4: found ${different}, expected tokamax_wants_one_march_in_all_files")
endif()
