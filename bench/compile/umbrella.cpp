// bench/compile/umbrella.cpp: what including tokamax.hpp costs.
// SPDX-License-Identifier: Apache-2.0
// limits: 2 s, 600 MB
// nvcc: yes
#include <tokamax/tokamax.hpp>

// Each of these costs every program 0.05 to 0.3 s, so they belong behind TOKAMAX_COMPILED_ONCE. The names are libstdc++'s.
#if defined(_GLIBCXX_MAP) || defined(_GLIBCXX_LIST) || defined(_GLIBCXX_UNORDERED_MAP) || defined(_GLIBCXX_CHRONO) || \
    defined(_GLIBCXX_THREAD) || defined(_GLIBCXX_FUNCTIONAL) || defined(_GLIBCXX_IOSTREAM) ||                         \
    defined(_GLIBCXX_REGEX) || defined(_GLIBCXX_FSTREAM) || defined(_GLIBCXX_FILESYSTEM) || defined(_GLIBCXX_RANDOM)
  #error "the umbrella includes a standard header that is too dear for it"
#endif
