# zlib.cmake: tokamax::zlib, for zlib/, where zlib is found. Installed: find_package(tokamax) reads it too.

# Programs that read files compressed by deflate link it and include zlib.hpp.
function(tokamax_zlib headers)
  if(TARGET tokamax::zlib)
    return()
  endif()
  tokamax_optional(ZLIB "ZLIB::ZLIB" z zlib.h zlib)
  if(NOT zlib)
    message(STATUS "tokamax::zlib: left out, found no zlib (Debian: zlib1g-dev)")
    return()
  endif()
  add_library(tokamax::zlib INTERFACE IMPORTED GLOBAL)
  target_link_libraries(tokamax::zlib INTERFACE ${headers} ${zlib})
endfunction()
