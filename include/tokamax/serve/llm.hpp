// tokamax/serve/llm.hpp: all of serve/llm: an engine that answers many requests of a language model at once.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// umbrella: no (it needs PCRE2 and utf8proc, which few programs need)
//
//   serve/llm/answer.hpp           one answer to a request: its tokens become text, until something ends it.
//   serve/llm/block_manager.hpp    the blocks of texts that grow, and of texts that begin as others did.
//   serve/llm/block_pool.hpp       the blocks of a cache: who holds them, what they contain, and which is reused next.
//   serve/llm/draw.hpp             a token that is drawn by logits, and log-probabilities.
//   serve/llm/engine.hpp           answers many requests of a language model at once, a step at a time.
//   serve/llm/engine_options.hpp   how much an engine takes in at once, and the memory of its cache.
//   serve/llm/engine_stats.hpp     what an engine does now, and what it has done.
//   serve/llm/engine_thread.hpp    a thread that owns an engine, for programs with many callers.
//   serve/llm/failure.hpp          what an exception says, for the output of the request that it ends.
//   serve/llm/model_runner.hpp     a decoder with its cache of blocks, as one program that serves every step.
//   serve/llm/output.hpp           what a step says: new text and tokens of an answer, and why it has ended.
//   serve/llm/request.hpp          what a client asks of a language model: a prompt, and how tokens are chosen.
//   serve/llm/request_times.hpp    when an answer was asked for, began and ended, and the times that are made of that.
//   serve/llm/sampler.hpp          the next token of an answer, by the logits of a model and the parameters of a request.
//   serve/llm/schedule_policy.hpp  which of the answers that wait comes first.
//   serve/llm/scheduler.hpp        which tokens of which texts a step takes in, and who has the blocks of the cache.
//   serve/llm/stop_texts.hpp       ends a text that comes in parts where it contains one of some texts.
#pragma once

#include <tokamax/serve/llm/answer.hpp>
#include <tokamax/serve/llm/block_manager.hpp>
#include <tokamax/serve/llm/block_pool.hpp>
#include <tokamax/serve/llm/draw.hpp>
#include <tokamax/serve/llm/engine.hpp>
#include <tokamax/serve/llm/engine_options.hpp>
#include <tokamax/serve/llm/engine_stats.hpp>
#include <tokamax/serve/llm/engine_thread.hpp>
#include <tokamax/serve/llm/failure.hpp>
#include <tokamax/serve/llm/model_runner.hpp>
#include <tokamax/serve/llm/output.hpp>
#include <tokamax/serve/llm/request.hpp>
#include <tokamax/serve/llm/request_times.hpp>
#include <tokamax/serve/llm/sampler.hpp>
#include <tokamax/serve/llm/schedule_policy.hpp>
#include <tokamax/serve/llm/scheduler.hpp>
#include <tokamax/serve/llm/stop_texts.hpp>
