// tokamax/models.hpp: all of models.
// SPDX-License-Identifier: Apache-2.0
//
//   models/bert.hpp                  an encoder of texts, whose tokens see all others.
//   models/bert_from_pretrained.hpp  encoders from folders as `transformers` writes them, and back.
//   models/decoder.hpp               a language model of any of many families, for training and for generation with a cache.
//   models/decoder_block.hpp         attention and a network of two layers, as the config of a decoder says.
//   models/decoder_config.hpp        what a decoder is made of, for language models of many families.
//   models/decoder_family.hpp        how the files of a family of language models describe a decoder.
//   models/decoder_norm.hpp          the norm of a decoder, of either kind, or none.
//   models/families/deepseek.hpp     DeepSeek V2 and V3, with latent attention and experts in groups.
//   models/families/gemma.hpp        Gemma 1, 2 and 3, for text.
//   models/families/gpt2.hpp         GPT-2, with learned positions, layer norms and biases.
//   models/families/gpt_oss.hpp      GPT-OSS, with experts, sinks, and a window in every second layer.
//   models/families/llama.hpp        Llama 2 and 3, and models of their form such as SmolLM2.
//   models/families/llama4.hpp       Llama 4, for text: experts, and layers without rotary embedding.
//   models/families/mistral.hpp      Mistral, which is Llama with a window in all layers, and Mixtral.
//   models/families/olmo.hpp         OLMo 1, 2 and 3, and OLMoE.
//   models/families/phi3.hpp         Phi-3, whose queries, keys and values are one tensor, and so are gate and up.
//   models/families/qwen.hpp         Qwen 2, 2.5 and 3, plain and with experts.
//   models/from_pretrained.hpp       language models from folders as `transformers` writes them and from GGUF files, and back.
//   models/generator.hpp             continues texts with a decoder, whose keys and values stay in a cache.
//   models/gguf_decoder.hpp          the config and the tensors of a decoder in a GGUF file, by the names of other files.
//   models/gguf_file.hpp             a GGUF file with its tensors.
//   models/gpt.hpp                   a decoder-only transformer, with its size fixed in its type or chosen at run time.
//   models/latent_attention.hpp      attention whose keys and values are made of one small row of each token.
//   models/model_folder.hpp          what folders of all models have in common.
//   models/panel_codes.hpp           rows of blocks of ggml as columns of packed weights.
//   models/placed_step.hpp           a step of a decoder as a program with its weights on a device.
//   models/quantized_folder.hpp      the tensors of folders whose matrices are floats of 8 or 4 bits with scales.
//   models/sampling.hpp              the next token, by the logits of a model.
//   models/sentence_encoder.hpp      a row of numbers for each sentence, alike for sentences that mean the same.
//   models/t5.hpp                    an encoder that reads a text and a decoder that writes another one.
//   models/t5_block.hpp              a block of T5: attention to its own text, to the other one, and a network.
//   models/t5_from_pretrained.hpp    T5 from folders as `transformers` writes them, and back.
//   models/t5_generator.hpp          writes a text for one that is read, token by token.
//   models/tensor_source.hpp         the tensors of a model's file or folder, by name.
//   models/weight_names.hpp          where the arrays of a model are among the tensors of a file, both ways.
#pragma once

#include <tokamax/models/bert.hpp>
#include <tokamax/models/bert_from_pretrained.hpp>
#include <tokamax/models/decoder.hpp>
#include <tokamax/models/decoder_block.hpp>
#include <tokamax/models/decoder_config.hpp>
#include <tokamax/models/decoder_family.hpp>
#include <tokamax/models/decoder_norm.hpp>
#include <tokamax/models/families/deepseek.hpp>
#include <tokamax/models/families/gemma.hpp>
#include <tokamax/models/families/gpt2.hpp>
#include <tokamax/models/families/gpt_oss.hpp>
#include <tokamax/models/families/llama.hpp>
#include <tokamax/models/families/llama4.hpp>
#include <tokamax/models/families/mistral.hpp>
#include <tokamax/models/families/olmo.hpp>
#include <tokamax/models/families/phi3.hpp>
#include <tokamax/models/families/qwen.hpp>
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/models/generator.hpp>
#include <tokamax/models/gguf_decoder.hpp>
#include <tokamax/models/gguf_file.hpp>
#include <tokamax/models/gpt.hpp>
#include <tokamax/models/latent_attention.hpp>
#include <tokamax/models/model_folder.hpp>
#include <tokamax/models/panel_codes.hpp>
#include <tokamax/models/placed_step.hpp>
#include <tokamax/models/quantized_folder.hpp>
#include <tokamax/models/sampling.hpp>
#include <tokamax/models/sentence_encoder.hpp>
#include <tokamax/models/t5.hpp>
#include <tokamax/models/t5_block.hpp>
#include <tokamax/models/t5_from_pretrained.hpp>
#include <tokamax/models/t5_generator.hpp>
#include <tokamax/models/tensor_source.hpp>
#include <tokamax/models/weight_names.hpp>
