// tokamax/serve/http.hpp: all of serve/http: a server of language models over HTTP, for programs that link tokamax::http.
// SPDX-License-Identifier: Apache-2.0
// needs <boost/beast/http.hpp>
// umbrella: no (it needs Boost.Beast, PCRE2 and utf8proc, which few programs need)
//
//   serve/http/answer_splitter.hpp     what a model says as reasoning, content and calls of tools, while it says it.
//   serve/http/api_metrics.hpp         times and sizes of answers, and the state of the engine, by the names that vLLM gives them.
//   serve/http/body_fields.hpp         a JSON record that a client has sent, read field by field.
//   serve/http/chat_messages.hpp       the messages of a chat as its template sees them.
//   serve/http/completion_answer.hpp   what a model says, as the JSON of completions, whole and in chunks.
//   serve/http/completion_call.hpp     hears what an engine says to one request of HTTP, and answers it, whole or as a stream.
//   serve/http/completion_request.hpp  what a client asks for at /v1/completions and /v1/chat/completions.
//   serve/http/connection.hpp          the requests of one client and their answers, one after another.
//   serve/http/embeddings.hpp          texts that become rows of numbers, as clients of OpenAI ask for them.
//   serve/http/exchange.hpp            a request of HTTP, and where its answer goes.
//   serve/http/http_error.hpp          what a client has done wrong, or the server, as JSON that clients of OpenAI read.
//   serve/http/llm_api.hpp             the endpoints of OpenAI's API for one model, and those of vLLM beside them.
//   serve/http/metrics_text.hpp        counters, gauges and histograms in the text format of Prometheus.
//   serve/http/sampling_fields.hpp     how tokens are chosen, as clients of OpenAI and vLLM write it.
//   serve/http/served_engine.hpp       an engine in its thread as a model that an API serves.
//   serve/http/served_model.hpp        what an API serves: the functions of a language model, or of an encoder.
//   serve/http/server.hpp              a server of HTTP/1.1 with one thread, for answers that come bit by bit.
//   serve/http/server_options.hpp      where a server listens, and what it takes of its clients.
//   serve/http/sse.hpp                 server-sent events, as clients of OpenAI read them.
//   serve/http/tools.hpp               the tools that a chat may call, and whether it must.
//   serve/http/worker.hpp              a thread that does what would keep the thread of a server from its clients.
#pragma once

#include <tokamax/serve/http/answer_splitter.hpp>
#include <tokamax/serve/http/api_metrics.hpp>
#include <tokamax/serve/http/body_fields.hpp>
#include <tokamax/serve/http/chat_messages.hpp>
#include <tokamax/serve/http/completion_answer.hpp>
#include <tokamax/serve/http/completion_call.hpp>
#include <tokamax/serve/http/completion_request.hpp>
#include <tokamax/serve/http/connection.hpp>
#include <tokamax/serve/http/embeddings.hpp>
#include <tokamax/serve/http/exchange.hpp>
#include <tokamax/serve/http/http_error.hpp>
#include <tokamax/serve/http/llm_api.hpp>
#include <tokamax/serve/http/metrics_text.hpp>
#include <tokamax/serve/http/sampling_fields.hpp>
#include <tokamax/serve/http/served_engine.hpp>
#include <tokamax/serve/http/served_model.hpp>
#include <tokamax/serve/http/server.hpp>
#include <tokamax/serve/http/server_options.hpp>
#include <tokamax/serve/http/sse.hpp>
#include <tokamax/serve/http/tools.hpp>
#include <tokamax/serve/http/worker.hpp>
