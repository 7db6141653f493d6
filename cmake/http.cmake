# http.cmake: tokamax::http, for serve/http, where tokamax::text and Boost's Beast and Asio are found, which are headers. Installed:
# find_package(tokamax) reads it too.

# Programs that serve models link it and include serve/http.hpp.
function(tokamax_http headers)
  if(TARGET tokamax::http)
    return()
  endif()
  find_path(TOKAMAX_BEAST_INCLUDE boost/beast/http.hpp HINTS ${Boost_INCLUDE_DIRS})
  mark_as_advanced(TOKAMAX_BEAST_INCLUDE)
  if(NOT TOKAMAX_BEAST_INCLUDE OR NOT TARGET tokamax::text)
    message(STATUS "tokamax::http: left out, found no Boost.Beast or no tokamax::text (Debian: libboost-dev libpcre2-dev libutf8proc-dev)")
    return()
  endif()
  add_library(tokamax::http INTERFACE IMPORTED GLOBAL)
  target_link_libraries(tokamax::http INTERFACE ${headers} tokamax::text)
endfunction()
