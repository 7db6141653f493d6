// tokamax/profile.hpp: all of profile. A program includes it where it looks at itself.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (recordings and their reports; programs that make some include it)
//
//   profile/analysis/activity.hpp            what a process does at a time, as a user thinks of it.
//   profile/analysis/comparison.hpp          two recordings side by side, and whether they differ by more than noise.
//   profile/analysis/device_time.hpp         how long devices worked, and what part of their arithmetic a run used.
//   profile/analysis/input_verdict.hpp       whether a program waits for its data, and for which stage of them.
//   profile/analysis/intervals.hpp           sets of times as disjoint intervals.
//   profile/analysis/merged.hpp              the recordings of several processes as one.
//   profile/analysis/nesting.hpp             which records of a track contain which, and the time that is each one's own.
//   profile/analysis/op_table.hpp            the steps of programs by what they did: times, work and the limit that bounds them.
//   profile/analysis/rules/memory_rules.hpp  rules on memory over time.
//   profile/analysis/rules/time_rules.hpp    rules on what steps wait for.
//   profile/analysis/rules/work_rules.hpp    rules on what the steps of programs do.
//   profile/analysis/spread.hpp              mean, median and spread of some numbers.
//   profile/analysis/step_breakdown.hpp      what each step of training or serving was spent on.
//   profile/analysis/suggestion.hpp          a way to make a program faster, with the numbers that speak for it.
//   profile/analysis/suggestions.hpp         what would make a recorded program faster, the greatest saving first.
//   profile/event.hpp                        one piece of work that a program did, and the observer that is told of it.
//   profile/files/file_bytes.hpp             whole files as bytes.
//   profile/files/folded.hpp                 a recording as folded stacks, from which flame graphs are drawn.
//   profile/files/from_xspace.hpp            an XSpace as a recording, so that profiles of JAX have our tables too.
//   profile/files/perfetto.hpp               a recording as a trace of Perfetto.
//   profile/files/read_xspace.hpp            the XSpace of a `*.xplane.pb` file, by whomever it was written.
//   profile/files/to_xspace.hpp              a recording as an XSpace, from which XProf makes its tables and charts.
//   profile/files/trace_json.hpp             a recording as trace events, which Perfetto and chrome://tracing open.
//   profile/files/wire.hpp                   messages of Protocol Buffers, written and read field by field.
//   profile/files/xplane_builder.hpp         a plane of an XSpace, whose names get their ids when they are first used.
//   profile/files/xspace.hpp                 the values of an XSpace, the file of a profile that XProf and JAX read and write.
//   profile/json_string.hpp                  text as a string of JSON.
//   profile/recorder.hpp                     the rings of all threads, and the names of what is in them.
//   profile/recording.hpp                    what a session has recorded, as values.
//   profile/report/page.hpp                  a recording as one HTML file that opens without a network.
//   profile/report/page_base.hpp             the part of the page's script that the views stand on: data, elements, numbers, colours.
//   profile/report/page_controls.hpp         the part of the page's script that lets a user move in the timeline and search it.
//   profile/report/page_style.hpp            the style of the page of a recording.
//   profile/report/page_timeline.hpp         the part of the page's script that draws tracks on a canvas.
//   profile/report/page_views.hpp            the part of the page's script with the tables and charts beside the timeline.
//   profile/report/to_json.hpp               the tables of an analysis as JSON, for programs and for the page.
//   profile/report/to_text.hpp               the tables of an analysis as lines of text.
//   profile/ring.hpp                         the last records of one thread.
//   profile/roofline.hpp                     the limits of a machine, and how near to them a recording came.
//   profile/session.hpp                      records what all threads do, and marks of the user's own.
//   profile/step_table.hpp                   what the steps of a program do, which recordings name by numbers.
//   profile/timeline.hpp                     records what the programs of a thread do and when.
#pragma once

#include <tokamax/profile/analysis/activity.hpp>
#include <tokamax/profile/analysis/comparison.hpp>
#include <tokamax/profile/analysis/device_time.hpp>
#include <tokamax/profile/analysis/input_verdict.hpp>
#include <tokamax/profile/analysis/intervals.hpp>
#include <tokamax/profile/analysis/merged.hpp>
#include <tokamax/profile/analysis/nesting.hpp>
#include <tokamax/profile/analysis/op_table.hpp>
#include <tokamax/profile/analysis/rules/memory_rules.hpp>
#include <tokamax/profile/analysis/rules/time_rules.hpp>
#include <tokamax/profile/analysis/rules/work_rules.hpp>
#include <tokamax/profile/analysis/spread.hpp>
#include <tokamax/profile/analysis/step_breakdown.hpp>
#include <tokamax/profile/analysis/suggestion.hpp>
#include <tokamax/profile/analysis/suggestions.hpp>
#include <tokamax/profile/event.hpp>
#include <tokamax/profile/files/file_bytes.hpp>
#include <tokamax/profile/files/folded.hpp>
#include <tokamax/profile/files/from_xspace.hpp>
#include <tokamax/profile/files/perfetto.hpp>
#include <tokamax/profile/files/read_xspace.hpp>
#include <tokamax/profile/files/to_xspace.hpp>
#include <tokamax/profile/files/trace_json.hpp>
#include <tokamax/profile/files/wire.hpp>
#include <tokamax/profile/files/xplane_builder.hpp>
#include <tokamax/profile/files/xspace.hpp>
#include <tokamax/profile/json_string.hpp>
#include <tokamax/profile/recorder.hpp>
#include <tokamax/profile/recording.hpp>
#include <tokamax/profile/report/page.hpp>
#include <tokamax/profile/report/page_base.hpp>
#include <tokamax/profile/report/page_controls.hpp>
#include <tokamax/profile/report/page_style.hpp>
#include <tokamax/profile/report/page_timeline.hpp>
#include <tokamax/profile/report/page_views.hpp>
#include <tokamax/profile/report/to_json.hpp>
#include <tokamax/profile/report/to_text.hpp>
#include <tokamax/profile/ring.hpp>
#include <tokamax/profile/roofline.hpp>
#include <tokamax/profile/session.hpp>
#include <tokamax/profile/step_table.hpp>
#include <tokamax/profile/timeline.hpp>
