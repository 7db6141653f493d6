# consumer_test.cmake: installs the tree configured in BUILD, and in an empty folder builds the README's program against it
# with the README's CMakeLists.txt.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})
file(COPY ${root}/tests/consumer/CMakeLists.txt DESTINATION ${work}/project)
configure_file(${root}/examples/00_readme.cpp ${work}/project/main.cpp COPYONLY)
foreach(command IN ITEMS
        "--install ${BUILD} --prefix ${work}/prefix"
        "-S ${work}/project -B ${work}/build -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER=${CXX}"
        "--build ${work}/build")
  separate_arguments(words UNIX_COMMAND "${command}")
  execute_process(COMMAND ${CMAKE_COMMAND} ${words} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${work}/build/consumer OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "the same bits: yes")
  message(FATAL_ERROR "the README's program: eager, compiled and run-time results differ")
endif()
