// tokamax/backend/cuda/kernels/rotary_embedding.hpp: rotary_embedding, whose angles are exact at far positions too.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/device.cpp
#pragma once

#include <tokamax/backend/cuda/device.hpp>       // cuda_tag
#include <tokamax/backend/cuda/launch.hpp>       // launch_template
#include <tokamax/backend/cuda/text/reduce.hpp>  // for its users: offset_of
#include <tokamax/backend/cuda/text/rotary.hpp>  // rotary
#include <tokamax/ops/rotary_embedding.hpp>      // rotary_embedding_p

#include <bit>  // bit_cast

namespace tokamax {

/// x [..., T, N, H], positions that fit [..., T]. Positions that repeat have a stride of 0.
TOKAMAX_BODY void kernel(op_c<rotary_embedding_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  const array_view &x = a.in[0], &positions = a.in[1];
  if (x.size() == 0) return;
  const auto o = a.attrs<rotary_embedding_options>();
  const int rank = x.rank() - 2, missing = rank - positions.rank();
  const shape dense = row_major(positions.extents);
  shape extents, strides;
  for (int i = 0; i < rank; ++i) {
    extents.push_back(x.extent(i));
    strides.push_back(i < missing || positions.extent(i - missing) == 1 ? 0 : dense[i - missing]);
  }
  const std::int64_t heads = x.extent(rank), half = x.extent(rank + 1) / 2, threads = x.size() / heads / 2;
  kernel_record r;
  r.add(threads).add(heads).add(half).add(rank);
  r.add(o.interleaved).add(o.inverse).add(std::bit_cast<std::int64_t>(o.base)).add(extents).add(strides);
  r.add(x.data).add(positions.data).add(a.out[0].data);
  launch_template(instance_of(a), joined({cuda_text::reduce, cuda_text::rotary}), "rotary_embedding", "rotary_data",
                  {name(x.type)}, ceil_div(threads, block_threads), r);
}

}  // namespace tokamax
