// tokamax/checkpoint.hpp: model, optimiser state and position in the data, saved whole or not at all.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (the JSON library would take most of the compile time of tokamax.hpp; include this header beside it)
//
//  checkpoint::manager checkpoints("runs/gpt", {.every = 500, .keep = 3});
//  if (auto found = checkpoints.restore(state)) position = found->get<data::position>("data");
//  checkpoints.save_async(step, state, checkpoint::metadata{}.set("data", reader.position()));
//
// A checkpoint is a folder with a safetensors file, which other programs can read too, and a JSON file.
//
//   checkpoint/array_source.hpp        arrays by name in files of any format.
//   checkpoint/background.hpp          one job at a time on another thread, whose error reaches the next caller.
//   checkpoint/crc32c.hpp              the Castagnoli checksum.
//   checkpoint/ggml_blocks.hpp         numbers as ggml stores them, in blocks of few bits with their scales.
//   checkpoint/items.hpp               things of several kinds under names of their own, saved in one step.
//   checkpoint/json.hpp                JSON that anybody may have written, read strictly and within bounds.
//   checkpoint/json_record.hpp         a JSON record of a file, read field by field, such as the config.json of a model.
//   checkpoint/json_text.hpp           plain records read straight from the bytes of a JSON text.
//   checkpoint/json_value.hpp          numbers, texts, vectors and plain records as a JSON value, and back.
//   checkpoint/manager.hpp             the checkpoints of a run, one folder a step.
//   checkpoint/metadata.hpp            numbers, texts and plain records that are saved beside the arrays.
//   checkpoint/metadata_file.hpp       metadata, and the checksums of the arrays, as a JSON file with a checksum of its own.
//   checkpoint/orbax/byte_sink.hpp     writes bytes by key, into the files of a folder or into an OCDBT database.
//   checkpoint/orbax/byte_store.hpp    bytes by key, as in the files of a folder.
//   checkpoint/orbax/ocdbt.hpp         the keys and values of a database of TensorStore.
//   checkpoint/orbax/orbax_folder.hpp  the arrays of a checkpoint that Orbax wrote.
//   checkpoint/orbax/save_orbax.hpp    a tree of arrays as a folder that Orbax restores.
//   checkpoint/orbax/zarr.hpp          what the metadata of an array in chunks say, in zarr's versions 2 and 3.
//   checkpoint/orbax/zarr_chunks.hpp   the elements of an array that lies in chunks.
//   checkpoint/orbax/zarr_writer.hpp   an array in chunks, as zarr keeps it.
//   checkpoint/preservation.hpp        which checkpoints of a run stay.
//   checkpoint/restoration.hpp         the arrays of a checkpoint, checked against a tree and read one by one.
//   checkpoint/restore_async.hpp       a checkpoint that is read on another thread.
//   checkpoint/safetensors.hpp         arrays by name in one file, in the format of Hugging Face.
//   checkpoint/safetensors_folder.hpp  the arrays of a model's folder, in one safetensors file or several with an index.
//   checkpoint/save_policy.hpp         at which steps a run is saved.
//   checkpoint/state.hpp               a tree of arrays and its metadata as one folder, written whole or not at all.
//   checkpoint/stored_array.hpp        what the header of a safetensors file says of one array.
//   checkpoint/two_folders.hpp         checkpoints in a near folder that is written often, and in a safe one that is written seldom.
#pragma once

#include <tokamax/checkpoint/array_source.hpp>
#include <tokamax/checkpoint/background.hpp>
#include <tokamax/checkpoint/crc32c.hpp>
#include <tokamax/checkpoint/ggml_blocks.hpp>
#include <tokamax/checkpoint/items.hpp>
#include <tokamax/checkpoint/json.hpp>
#include <tokamax/checkpoint/json_record.hpp>
#include <tokamax/checkpoint/json_text.hpp>
#include <tokamax/checkpoint/json_value.hpp>
#include <tokamax/checkpoint/manager.hpp>
#include <tokamax/checkpoint/metadata.hpp>
#include <tokamax/checkpoint/metadata_file.hpp>
#include <tokamax/checkpoint/orbax/byte_sink.hpp>
#include <tokamax/checkpoint/orbax/byte_store.hpp>
#include <tokamax/checkpoint/orbax/ocdbt.hpp>
#include <tokamax/checkpoint/orbax/orbax_folder.hpp>
#include <tokamax/checkpoint/orbax/save_orbax.hpp>
#include <tokamax/checkpoint/orbax/zarr.hpp>
#include <tokamax/checkpoint/orbax/zarr_chunks.hpp>
#include <tokamax/checkpoint/orbax/zarr_writer.hpp>
#include <tokamax/checkpoint/preservation.hpp>
#include <tokamax/checkpoint/restoration.hpp>
#include <tokamax/checkpoint/restore_async.hpp>
#include <tokamax/checkpoint/safetensors.hpp>
#include <tokamax/checkpoint/safetensors_folder.hpp>
#include <tokamax/checkpoint/save_policy.hpp>
#include <tokamax/checkpoint/state.hpp>
#include <tokamax/checkpoint/stored_array.hpp>
#include <tokamax/checkpoint/two_folders.hpp>
