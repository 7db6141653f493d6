// tokamax/profile.hpp: all of profile. A program includes it where it looks at itself.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (recordings and their reports; programs that make some include it)
//
//   profile/event.hpp        one piece of work that a program did, and the observer that is told of it.
//   profile/json_string.hpp  text as a string of JSON.
//   profile/recorder.hpp     the rings of all threads, and the names of what is in them.
//   profile/recording.hpp    what a session has recorded, as values.
//   profile/ring.hpp         the last records of one thread.
//   profile/roofline.hpp     the limits of a machine, and how near to them a recording came.
//   profile/session.hpp      records what all threads do, and marks of the user's own.
//   profile/step_table.hpp   what the steps of a program do, which recordings name by numbers.
//   profile/timeline.hpp     records what the programs of a thread do and when.
#pragma once

#include <tokamax/profile/event.hpp>
#include <tokamax/profile/json_string.hpp>
#include <tokamax/profile/recorder.hpp>
#include <tokamax/profile/recording.hpp>
#include <tokamax/profile/ring.hpp>
#include <tokamax/profile/roofline.hpp>
#include <tokamax/profile/session.hpp>
#include <tokamax/profile/step_table.hpp>
#include <tokamax/profile/timeline.hpp>
