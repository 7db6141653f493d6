#loc = loc("f.py":1:0)
!t = tensor<2xf32>
module @m attributes {a.b = 1 : i32} {
  func.func public @main(%arg0: !t {tf.aliasing_output = 0 : i32}, %arg1: tensor<2x3xi8>) -> (tensor<2xf32>) {
    %c = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %h = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
    %0 = stablehlo.slice %arg1 [0:2, 1:3:2] : (tensor<2x3xi8>) -> tensor<2x1xi8>
    %1 = stablehlo.reduce(%arg0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %2:2 = stablehlo.while(%a = %1, %b = %z) : tensor<f32>, tensor<f32>
    cond {
      %p = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      stablehlo.return %b, %a : tensor<f32>, tensor<f32>
    }
    %3 = "stablehlo.gather"(%arg0, %c) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<2xf32>, tensor<2x3xi8>) -> tensor<2xf32>
    %4 = stablehlo.convolution(%3, %3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 2]], reverse = [true]} {batch_group_count = 1 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %4 : tensor<2xf32> loc(#loc)
  }
}
