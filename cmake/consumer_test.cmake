# consumer_test.cmake: installs the tree configured in BUILD and builds tests/consumer against it.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})
foreach(command IN ITEMS
        "--install ${BUILD} --prefix ${work}/prefix"
        "-S ${root}/tests/consumer -B ${work}/build -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER=${CXX}"
        "--build ${work}/build")
  separate_arguments(words UNIX_COMMAND "${command}")
  execute_process(COMMAND ${CMAKE_COMMAND} ${words} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${work}/build/consumer COMMAND_ERROR_IS_FATAL ANY)
