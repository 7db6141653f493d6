# stablehlo.cmake: tokamax::stablehlo, for stablehlo/. Installed: find_package(tokamax) reads it too.

# A library compiles the readers and the rules once.
function(tokamax_stablehlo core linalg)
  if(TARGET tokamax::stablehlo)
    return()
  endif()
  add_library(tokamax::stablehlo INTERFACE IMPORTED GLOBAL)
  target_link_libraries(tokamax::stablehlo INTERFACE ${core} ${linalg})
  if(TOKAMAX_HEADER_ONLY)
    return()
  endif()
  if(NOT TARGET tokamax_stablehlo_functions)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/tokamax_kernels/stablehlo.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#define TOKAMAX_INSTANTIATE_STABLEHLO\n#include <tokamax/stablehlo.hpp>\n")
    add_library(tokamax_stablehlo_functions STATIC EXCLUDE_FROM_ALL ${source})
    target_link_libraries(tokamax_stablehlo_functions PUBLIC ${core} ${linalg})
    set_target_properties(tokamax_stablehlo_functions PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(tokamax_stablehlo_functions PRIVATE -O1)  # it reads files and makes graphs, and has no other loops
  endif()
  target_compile_definitions(tokamax::stablehlo INTERFACE TOKAMAX_SEPARATE_STABLEHLO)
  target_link_libraries(tokamax::stablehlo INTERFACE tokamax_stablehlo_functions)
endfunction()
