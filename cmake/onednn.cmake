# onednn.cmake: tokamax::onednn, for backend/onednn/, where oneDNN is found. Installed: find_package(tokamax) reads it too.

function(tokamax_onednn core)
  find_package(dnnl QUIET)
  if(TARGET DNNL::dnnl AND NOT TARGET tokamax::onednn)
    add_library(tokamax::onednn INTERFACE IMPORTED GLOBAL)
    target_link_libraries(tokamax::onednn INTERFACE ${core} DNNL::dnnl)
  endif()
endfunction()
