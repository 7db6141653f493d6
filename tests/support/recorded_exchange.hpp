// tests/support/recorded_exchange.hpp: an exchange that keeps what it is told.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/serve/http/exchange.hpp>    // exchange
#include <tokamax/serve/http/http_error.hpp>  // ordered_json

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace tokamax::test {

class recorded_exchange : public serve::exchange {
 public:
  void answer(int status_code, std::string text, std::string_view kind) override {
    const std::lock_guard lock(mutex_);
    code = status_code, body = std::move(text), type = kind, ended = true;
    wake_.notify_all();
  }
  void begin_events() override {
    const std::lock_guard lock(mutex_);
    code = 200, streams = true;
  }
  void put(std::string bytes) override {
    const std::lock_guard lock(mutex_);
    body += bytes;
  }
  void end() override {
    const std::lock_guard lock(mutex_);
    ended = true;
    wake_.notify_all();
  }
  void when_gone(std::function<void()> f) override {
    const std::lock_guard lock(mutex_);
    gone = std::move(f);
    wake_.notify_all();
  }
  /// Waits for the end, or for a function of `when_gone`. False: neither came within 20 seconds.
  bool wait(bool for_end = true) {
    std::unique_lock lock(mutex_);
    return wake_.wait_for(lock, std::chrono::seconds(20), [&] { return ended || (!for_end && gone); });
  }
  /// The events of a stream, without the last one, which must be [DONE].
  std::vector<serve::ordered_json> events() const {
    std::vector<serve::ordered_json> all;
    std::string rest = body;
    const std::string begin = "data: ", last = "data: [DONE]\n\n";
    if (!rest.ends_with(last)) throw std::runtime_error("no [DONE]: " + body);
    rest.resize(rest.size() - last.size());
    for (std::size_t at = 0, end; at < rest.size(); at = end + 2) {
      end = rest.find("\n\n", at);
      if (rest.substr(at, begin.size()) != begin) throw std::runtime_error("no event: " + rest.substr(at));
      all.push_back(serve::ordered_json::parse(rest.substr(at + begin.size(), end - at - begin.size())));
    }
    return all;
  }

  int code = 0;
  std::string body, type;
  bool streams = false, ended = false;
  std::function<void()> gone;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace tokamax::test
