# conan_test.cmake: `conan create` of the recipe and its test_package, with this machine's packages as the providers.
# Conan comes from a Python virtual environment in BUILD; without Python 3 or a package index the test is skipped.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
set(work ${BUILD}/conan)

find_program(python python3)
if(NOT python)
  message("skipped: Python 3 is not installed")
  return()
endif()
set(conan ${work}/venv/bin/conan)
if(NOT EXISTS ${conan})
  execute_process(COMMAND ${python} -m venv ${work}/venv RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(NOT failed)
    execute_process(COMMAND ${work}/venv/bin/pip install --quiet --disable-pip-version-check "conan>=2.3,<3"
                    RESULT_VARIABLE failed)
  endif()
  if(failed)
    message("skipped: Conan cannot be installed")
    return()
  endif()
endif()

set(ENV{CONAN_HOME} ${work}/home)
set(ENV{CXX} ${CXX})
file(REMOVE_RECURSE ${work}/home ${work}/test)
execute_process(COMMAND ${conan} profile detect --name found OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${work}/profile "include(found)
[settings]
compiler.cppstd=20
[platform_requires]
xsimd/13.0.0
eigen/3.4.0
boost/1.84.0
fmt/10.2.1
nlohmann_json/3.11.3
[conf]
tools.cmake.cmaketoolchain:extra_variables={'CMAKE_CXX_FLAGS_RELEASE': '-O0'}
")
execute_process(COMMAND ${conan} create ${root} --profile:all ${work}/profile --no-remote
                        --test-folder ${root}/test_package
                        -c:a tools.cmake.cmake_layout:test_folder=${work}/test COMMAND_ERROR_IS_FATAL ANY)
