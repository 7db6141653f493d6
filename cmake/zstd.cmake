# zstd.cmake: tokamax::zstd, for zstd/, where libzstd is found. Installed: find_package(tokamax) reads it too.

# Programs that read files compressed by Zstandard link it and include zstd.hpp.
function(tokamax_zstd headers)
  if(TARGET tokamax::zstd)
    return()
  endif()
  tokamax_optional(zstd "zstd::libzstd;zstd::libzstd_shared;zstd::libzstd_static" zstd zstd.h zstd)
  if(NOT zstd)
    message(STATUS "tokamax::zstd: left out, found no libzstd (Debian: libzstd-dev)")
    return()
  endif()
  add_library(tokamax::zstd INTERFACE IMPORTED GLOBAL)
  target_link_libraries(tokamax::zstd INTERFACE ${headers} ${zstd})
endfunction()
