// tokamax/data.hpp: pipelines from a text to batches, read from any position.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (files and threads would take 0.3 s of the compile time of tokamax.hpp; include this header beside it)
//
// A pipeline is a value, made of stages joined with `|`:
//
//  auto data = text("input.txt") | windows(context + 1) | shuffle({.seed = 0}) | batch<example>(32) | prefetch(2);
//  for (auto reader = data.from(position); const auto& [step, batch] : reader) ...
//
// Stages give their elements by index where they can, so every place can be read at once. `reader.position()` is the place
// after what was read: saved and handed to `from` again, it gives exactly the elements that would have followed. Filters,
// packing and others give them in order only. Their readers end where the data does, and their place is a record:
//
//  auto rows = documents | shuffle({.seed = 0}) | filter(is_long) | pack(1024) | prefetch({.threads = 2});
//  auto reader = rows.from();
//  if (found) reader.set_state(found->get<decltype(reader)::state_type>("data"));
//
//   data/batch.hpp                        several elements stacked into the arrays of one record.
//   data/cache.hpp                        elements that are made once and kept in memory.
//   data/check_restores.hpp               checks that a pipeline goes on after a restore with the elements that would have followed.
//   data/counter_hash.hpp                 random bits as a pure function of a seed and a counter.
//   data/dataset.hpp                      what every stage of a pipeline is: elements by index, read in order from a position.
//   data/list.hpp                         elements that are in memory, and numbers.
//   data/loader.hpp                       the usual pipeline in one call: records in an order, by epochs and shards, through stages.
//   data/map.hpp                          a function applied to each element.
//   data/pick_prefetch.hpp                options of `prefetch` for a bound of memory.
//   data/prefetch.hpp                     elements made ahead of time by other threads.
//   data/rows.hpp                         the rows of arrays as elements.
//   data/shuffle.hpp                      a random order of any number of elements, another one in each epoch, without a table.
//   data/slice.hpp                        a part of a dataset.
//   data/sources/array_record.hpp         ArrayRecord's files, in which records are found by their number.
//   data/sources/array_record_writer.hpp  writes ArrayRecord's files.
//   data/sources/bagz.hpp                 files of records with an index at their end.
//   data/sources/csv.hpp                  tables of texts or numbers with a row a line.
//   data/sources/file_bytes.hpp           the bytes of a file, mapped into memory, and numbers in them.
//   data/sources/highway_hash.hpp         the hash of ArrayRecord's files.
//   data/sources/lines.hpp                the lines of a text file, and records of JSON, one a line.
//   data/sources/npy.hpp                  arrays in NumPy's files, one or several.
//   data/sources/proto.hpp                the fields of a message of protocol buffers, read and written.
//   data/sources/tf_example.hpp           named lists of bytes or numbers, as TensorFlow saves them in records.
//   data/sources/tfrecord.hpp             TensorFlow's files of records.
//   data/stage_times.hpp                  which stage of a pipeline takes the time.
//   data/stream/any_stream.hpp            a stream whose type says only what its elements are.
//   data/stream/concat_then_split.hpp     sequences one behind the other, cut into pieces of one length.
//   data/stream/concatenate.hpp           streams or datasets, one behind the other.
//   data/stream/filter.hpp                the elements for which a function holds.
//   data/stream/flat_map.hpp              any number of elements in place of each one.
//   data/stream/interleave.hpp            several streams at once, one element of each in turn.
//   data/stream/limit.hpp                 streams that end after so many elements.
//   data/stream/pack.hpp                  whole sequences put together in bins of one length.
//   data/stream/rebatch.hpp               batches of another size.
//   data/stream/repeat.hpp                so many epochs, and then the end.
//   data/stream/rows.hpp                  parts of arrays along the leading axis of all leaves of an element.
//   data/stream/select.hpp                elements of several streams, by a rule that says whose turn it is.
//   data/stream/shard.hpp                 the part of a stream that one of several processes reads.
//   data/stream/stream.hpp                elements that are read in order only, and the place where reading goes on.
//   data/stream/window_shuffle.hpp        a random order within windows of a stream.
//   data/stream/zip.hpp                   streams that are read side by side.
//   data/text_split.hpp                   the front of a text to train on, the rest to validate on.
//   data/token_file.hpp                   tokens of 1, 2 or 4 bytes that stay in their file.
//   data/tokens.hpp                       a text as a sequence of byte-sized tokens, from a file or from memory.
//   data/vocabulary.hpp                   the symbols of a text and their token numbers.
//   data/windows.hpp                      pieces of a token sequence, all with the same length.
#pragma once

#include <tokamax/data/batch.hpp>
#include <tokamax/data/cache.hpp>
#include <tokamax/data/check_restores.hpp>
#include <tokamax/data/counter_hash.hpp>
#include <tokamax/data/dataset.hpp>
#include <tokamax/data/list.hpp>
#include <tokamax/data/loader.hpp>
#include <tokamax/data/map.hpp>
#include <tokamax/data/pick_prefetch.hpp>
#include <tokamax/data/prefetch.hpp>
#include <tokamax/data/rows.hpp>
#include <tokamax/data/shuffle.hpp>
#include <tokamax/data/slice.hpp>
#include <tokamax/data/sources/array_record.hpp>
#include <tokamax/data/sources/array_record_writer.hpp>
#include <tokamax/data/sources/bagz.hpp>
#include <tokamax/data/sources/csv.hpp>
#include <tokamax/data/sources/file_bytes.hpp>
#include <tokamax/data/sources/highway_hash.hpp>
#include <tokamax/data/sources/lines.hpp>
#include <tokamax/data/sources/npy.hpp>
#include <tokamax/data/sources/proto.hpp>
#include <tokamax/data/sources/tf_example.hpp>
#include <tokamax/data/sources/tfrecord.hpp>
#include <tokamax/data/stage_times.hpp>
#include <tokamax/data/stream/any_stream.hpp>
#include <tokamax/data/stream/concat_then_split.hpp>
#include <tokamax/data/stream/concatenate.hpp>
#include <tokamax/data/stream/filter.hpp>
#include <tokamax/data/stream/flat_map.hpp>
#include <tokamax/data/stream/interleave.hpp>
#include <tokamax/data/stream/limit.hpp>
#include <tokamax/data/stream/pack.hpp>
#include <tokamax/data/stream/rebatch.hpp>
#include <tokamax/data/stream/repeat.hpp>
#include <tokamax/data/stream/rows.hpp>
#include <tokamax/data/stream/select.hpp>
#include <tokamax/data/stream/shard.hpp>
#include <tokamax/data/stream/stream.hpp>
#include <tokamax/data/stream/window_shuffle.hpp>
#include <tokamax/data/stream/zip.hpp>
#include <tokamax/data/text_split.hpp>
#include <tokamax/data/token_file.hpp>
#include <tokamax/data/tokens.hpp>
#include <tokamax/data/vocabulary.hpp>
#include <tokamax/data/windows.hpp>
