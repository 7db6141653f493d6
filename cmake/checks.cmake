# checks.cmake: what is checked before anything is built (ctest -L check), cheap first.
include(cmake/compilers.cmake)

function(check name)  # name, arguments of cmake
  add_test(NAME check.${name} COMMAND ${CMAKE_COMMAND} ${ARGN})
  set_tests_properties(check.${name} PROPERTIES LABELS check SKIP_REGULAR_EXPRESSION "skipped:")
endfunction()

check(format -P ${scripts}/check_format.cmake)
check(includes -P ${scripts}/check_includes.cmake)
check(umbrellas -P ${scripts}/umbrellas.cmake)
check(passes -P ${scripts}/check_passes.cmake)
check(headers -P ${scripts}/check_headers.cmake)
check(include_comments -P ${scripts}/check_include_comments.cmake)
check(functions -P ${scripts}/functions.cmake)
check(sizes -P ${scripts}/check_sizes.cmake)
check(readme -P ${scripts}/check_readme.cmake)
check(coverage -P ${scripts}/coverage.cmake)
check(jax_coverage -P ${scripts}/jax_coverage.cmake)
check(optax_coverage -DOF=optax -P ${scripts}/name_coverage.cmake)

list(GET tokamax_compilers 0 first)
check(compile_cost -DCOMPILER=${tokamax_compiler_${first}} -DFLAGS=${tokamax_flags_${first}} -P ${scripts}/check_compile_cost.cmake)

file(GLOB_RECURSE failing RELATIVE ${PROJECT_SOURCE_DIR}/tests CONFIGURE_DEPENDS tests/*.fail.cpp)
list(TRANSFORM failing REPLACE "/.*" "")
list(REMOVE_DUPLICATES failing)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  check(library_lists -DCOMPILER=${CMAKE_CXX_COMPILER} -DFLAGS=${tokamax_flags_g++} -P ${scripts}/library_lists.cmake)
endif()
foreach(name IN LISTS tokamax_compilers)
  set(with -DCOMPILER=${tokamax_compiler_${name}} -DFLAGS=${tokamax_flags_${name}})
  if(tokamax_compiler_${name} STREQUAL CMAKE_CXX_COMPILER)  # `test.cmake -DCXX=...` checks others
    foreach(part RANGE 1 4)
      check(alone.${part}.${name} -DPART=${part} -DPARTS=4 ${with} -P ${scripts}/headers_alone.cmake)
    endforeach()
  endif()
  if(name STREQUAL g++)  # what clang calls a change of sign, kernels have in hundreds of places
    check(headers_together.${name} ${with} -P ${scripts}/headers_together.cmake)
  endif()
  foreach(folder IN LISTS failing)
    check(must_fail.${folder}.${name} -DFOLDER=${folder} ${with} -P ${scripts}/must_fail.cmake)
  endforeach()
endforeach()
