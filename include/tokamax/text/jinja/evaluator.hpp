// tokamax/text/jinja/evaluator.hpp: runs a template: its statements write a text, its expressions give values.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/filters.hpp>    // apply_filter
#include <tokamax/text/jinja/functions.hpp>  // functions
#include <tokamax/text/jinja/scope.hpp>      // scope
#include <tokamax/text/jinja/tree.hpp>       // node

namespace tokamax::text::jinja {

/// One run of a template. The tree outlives it.
class evaluator {
 public:
  using kind = node::kind;
  using scope_pointer = std::shared_ptr<scope>;

  evaluator(limits& run, const dictionary& variables, std::time_t now) : run_(run), functions_(run, now) {
    for (const auto& [name, v] : variables.items) root_->names.emplace_back(*name.text(), v);
  }
  std::string render(const node& tree) {
    std::string out;
    root_out_ = &out;
    execute(tree, std::make_shared<scope>(scope{root_}), out);
    return out;
  }
  /// First and last + 1 byte of what stood in generation blocks.
  std::vector<std::pair<std::size_t, std::size_t>> generated;

 private:
  enum class flow { on, leave, next };

  scope_pointer inner(const scope_pointer& s) {
    run_.spend(2);
    return std::make_shared<scope>(scope{s});
  }
  void write(std::string& out, std::string_view text) {
    if (out.size() + text.size() > limits::most_bytes) run_.spend_bytes(limits::most_bytes + 1);
    out += text;
  }

  // A statement. Where a loop is left or goes on, the statements around it stop.
  flow execute(const node& n, const scope_pointer& s, std::string& out) {
    run_.line = n.line;
    run_.spend(1);
    const limits::level l(run_);
    switch (n.is) {
      case kind::sequence:
        for (const node& one : n.parts)
          if (const flow f = execute(one, s, out); f != flow::on) return f;
        return flow::on;
      case kind::data:
        return write(out, *n.constant.text()), flow::on;
      case kind::print:
        return write(out, text_of(n.parts[0], s)), flow::on;
      case kind::branch:
        return branch(n, s, out);
      case kind::loop:
        return loop(n, s, out);
      case kind::break_loop:
        return flow::leave;
      case kind::continue_loop:
        return flow::next;
      default:
        return define(n, s, out), flow::on;
    }
  }
  std::string text_of(const node& n, const scope_pointer& s) { return to_text(run_, evaluate(n, s)); }
  // What a body writes. Names that it sets are its own.
  std::string captured(const node& body, const scope_pointer& s) {
    std::string text;
    execute(body, inner(s), text);
    return text;
  }
  // Names that are set in a branch are those around it.
  flow branch(const node& n, const scope_pointer& s, std::string& out) {
    std::size_t i = 0;
    for (; i + 1 < n.parts.size(); i += 2)
      if (truth(evaluate(n.parts[i], s))) return execute(n.parts[i + 1], s, out);
    return i < n.parts.size() ? execute(n.parts[i], s, out) : flow::on;
  }
  // Each turn has names of its own. The condition sees the target, and not `loop`.
  flow loop(const node& n, const scope_pointer& s, std::string& out) {
    std::vector<value> items = items_of(run_, evaluate(n.parts[1], s));
    if (n.parts[2].is != kind::nothing)
      std::erase_if(items, [&](const value& v) {
        const scope_pointer one = inner(s);
        assign(n.parts[0], v, one);
        return !truth(evaluate(n.parts[2], one));
      });
    auto state = std::make_shared<loop_state>();
    const value list = run_.list(std::move(items));
    state->items = std::get<std::shared_ptr<const sequence>>(list.is);
    struct end_of_loop {  // a loop may not keep itself alive
      loop_state& state;
      ~end_of_loop() { state.last.clear(); }
    } const end{*state};
    for (state->at = 0; state->at < state->items->items.size(); ++state->at) {
      const scope_pointer one = inner(s);
      one->set("loop", state);
      assign(n.parts[0], state->items->items[state->at], one);
      if (execute(n.parts[3], one, out) == flow::leave) return flow::on;
    }
    if (state->items->items.empty() && n.parts[4].is != kind::nothing) execute(n.parts[4], inner(s), out);
    return flow::on;
  }
  // Statements that give names to values, or use what a body writes.
  void define(const node& n, const scope_pointer& s, std::string& out) {
    if (n.is == kind::assign) {
      assign(n.parts[0], evaluate(n.parts[1], s), s);
    } else if (n.is == kind::capture) {
      const value text = run_.text(captured(n.parts[1], s));
      assign(n.parts[0], n.parts[2].is == kind::nothing ? text : with_captured(n.parts[2], s, text), s);
    } else if (n.is == kind::macro) {
      s->set(n.name, callable{callable::kind::macro, n.name, {}, &n, s});
    } else if (n.is == kind::call_block) {
      arguments given = arguments_of(n.parts[0], s);
      given.named.emplace_back("caller", callable{callable::kind::macro, "caller", {}, &n, s});
      write(out, to_text(run_, call(evaluate(n.parts[0].parts[0], s), given)));
    } else if (n.is == kind::filter_block) {
      write(out, to_text(run_, with_captured(n.parts[0], s, run_.text(captured(n.parts[1], s)))));
    } else if (n.is == kind::with) {
      const scope_pointer one = inner(s);
      for (std::size_t i = 0; i + 1 < n.parts.size(); i += 2) assign(n.parts[i], evaluate(n.parts[i + 1], s), one);
      execute(n.parts.back(), one, out);
    } else {  // a generation block
      const std::size_t begin = out.size();
      write(out, captured(n.parts[0], s));
      if (&out == root_out_) generated.emplace_back(begin, out.size());
    }
  }
  // A chain of filters around the text of a block.
  value with_captured(const node& filters, const scope_pointer& s, value text) {
    std::swap(captured_, text);
    value result = evaluate(filters, s);
    std::swap(captured_, text);
    return result;
  }
  // A name, a field of a namespace, or several with an item for each.
  void assign(const node& target, const value& v, const scope_pointer& s) {
    run_.line = target.line;
    if (target.is == kind::name) return s->set(target.name, v);
    if (target.is == kind::field_of_namespace) {
      const value of = lookup(target.name, s);
      if (!std::holds_alternative<name_space*>(of.is))
        refuse_type(run_, "set " + target.name + "." + target.field, of, "a namespace");
      run_.spend(8);
      std::get<name_space*>(of.is)->fields[target.field] = v;
      return;
    }
    if (v.is_undefined() || (!v.list() && !v.dict() && !v.text())) refuse_type(run_, "several names", v, "a list");
    const std::vector<value> items = items_of(run_, v);
    if (items.size() != target.parts.size())
      run_.refuse("several names", std::to_string(items.size()) + " values", std::to_string(target.parts.size()),
                  error_kind::argument);
    for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i], s);
  }
  // The innermost value of a name, else a function, else what is not defined.
  value lookup(const std::string& name, const scope_pointer& s) {
    for (scope* at = s.get(); at; at = at->around.get())
      if (const value* v = at->find(name)) return *v;
    if (functions::knows(name)) return callable{callable::kind::function, name};
    for (const char* other : {"lipsum", "cycler", "joiner"})
      if (name == other) run_.refuse("name", name, "a variable, or a function that is known");
    return undefined{std::make_shared<const std::string>("no " + name)};
  }

  // An expression. Each case is a function of its own, so that nested expressions need little of the stack.
  value evaluate(const node& n, const scope_pointer& s) {
    run_.line = n.line;
    run_.spend(1);
    const limits::level l(run_);
    switch (n.is) {
      case kind::constant:
        return n.constant;
      case kind::name:
        return lookup(n.name, s);
      case kind::captured:
        return captured_;
      case kind::list:
      case kind::tuple:
        return run_.list(values(n, s), n.is == kind::list ? sequence::kind::list : sequence::kind::tuple);
      case kind::dictionary:
        return dict(n, s);
      case kind::unary:
        return unary(n, s);
      case kind::binary:
        return binary(n, s);
      case kind::concat:
        return joined(run_, values(n, s), "");
      case kind::compare:
        return compare(n, s);
      case kind::choice:
        return choice(n, s);
      case kind::attribute:
        return attribute_of(n, s);
      case kind::item:
        return item_of(n, s);
      case kind::slice:
        return slice_of(n, s);
      case kind::filter:
        return filtered(n, s);
      case kind::test:
        return tested(n, s);
      case kind::call:
        return called(n, s);
      default:
        run_.refuse("expression", "another part", "an expression", error_kind::internal);
    }
  }
  value attribute_of(const node& n, const scope_pointer& s) {
    const value of = evaluate(n.parts[0], s);
    run_.line = n.line;
    return attribute(run_, of, n.name);
  }
  std::vector<value> values(const node& n, const scope_pointer& s) {
    std::vector<value> result;
    for (const node& one : n.parts) result.push_back(evaluate(one, s));
    return result;
  }
  // The last value of a key counts, at the place of the first.
  value dict(const node& n, const scope_pointer& s) {
    dictionary d;
    for (std::size_t i = 0; i < n.parts.size(); i += 2) {
      const value key = evaluate(n.parts[i], s), v = evaluate(n.parts[i + 1], s);
      if (!key.text() && !as_real(key) && !key.is_none()) refuse_type(run_, "a key", key, "a text or number");
      run_.spend(d.items.size());
      const auto is_it = [&](const auto& one) { return equal(run_, one.first, key); };
      const auto at = std::find_if(d.items.begin(), d.items.end(), is_it);
      at != d.items.end() ? void(at->second = v) : void(d.items.emplace_back(key, v));
    }
    return run_.dict(std::move(d));
  }
  value unary(const node& n, const scope_pointer& s) {
    const value v = evaluate(n.parts[0], s);
    if (n.name == "not") return !truth(v);
    if (!as_real(v)) refuse_type(run_, n.name, v, "a number");
    if (n.name == "+") return v.flag() ? value(*as_integer(v)) : v;
    return v.real() ? value(-*v.real()) : arithmetic(run_, "-", std::int64_t{0}, v);
  }
  // and, or give one of the two values; the second is not looked at if the first decides.
  value binary(const node& n, const scope_pointer& s) {
    value left = evaluate(n.parts[0], s);
    if (n.name == "and") return truth(left) ? evaluate(n.parts[1], s) : left;
    if (n.name == "or") return truth(left) ? left : evaluate(n.parts[1], s);
    const value right = evaluate(n.parts[1], s);
    run_.line = n.line;
    return arithmetic(run_, n.name, left, right);
  }
  // a < b < c holds if both do.
  value compare(const node& n, const scope_pointer& s) {
    value left = evaluate(n.parts[0], s);
    for (std::size_t i = 1; i < n.parts.size(); ++i) {
      const std::string& op = n.parts[i].name;
      value right = evaluate(n.parts[i].parts[0], s);
      run_.line = n.line;
      const bool holds = op == "=="   ? equal(run_, left, right)
                         : op == "!=" ? !equal(run_, left, right)
                         : op == "<"  ? less(run_, left, right)
                         : op == ">"  ? less(run_, right, left)
                         : op == "<=" ? !less(run_, right, left)
                         : op == ">=" ? !less(run_, left, right)
                                      : contains(run_, right, left) == (op == "in");
      if (!holds) return false;
      left = std::move(right);
    }
    return true;
  }
  // Without else there is nothing, which prints nothing.
  value choice(const node& n, const scope_pointer& s) {
    if (truth(evaluate(n.parts[0], s))) return evaluate(n.parts[1], s);
    if (n.parts[2].is != kind::nothing) return evaluate(n.parts[2], s);
    return undefined{std::make_shared<const std::string>("an if without else, whose condition is false")};
  }
  value item_of(const node& n, const scope_pointer& s) {
    const value of = evaluate(n.parts[0], s), key = evaluate(n.parts[1], s);
    run_.line = n.line;
    return item(run_, of, key);
  }
  // What is left out is none.
  value slice_of(const node& n, const scope_pointer& s) {
    const auto bound = [&](std::size_t i) {
      return n.parts[i].is == kind::nothing ? value(none{}) : evaluate(n.parts[i], s);
    };
    const value of = evaluate(n.parts[0], s), begin = bound(1), end = bound(2), step = bound(3);
    run_.line = n.line;
    return slice(run_, of, begin, end, step);
  }
  value filtered(const node& n, const scope_pointer& s) {
    const value of = evaluate(n.parts[0], s);
    const arguments given = arguments_of(n, s);
    run_.line = n.line;
    return apply_filter(run_, n.name, of, given);
  }
  value tested(const node& n, const scope_pointer& s) {
    const value of = evaluate(n.parts[0], s);
    const arguments given = arguments_of(n, s);
    run_.line = n.line;
    return apply_test(run_, n.name, of, given);
  }
  value called(const node& n, const scope_pointer& s) {
    const value of = evaluate(n.parts[0], s);
    const arguments given = arguments_of(n, s);
    run_.line = n.line;
    return call(of, given);
  }
  // Values, name=value, *list and **dict.
  arguments arguments_of(const node& n, const scope_pointer& s) {
    arguments result;
    for (std::size_t i = 1; i < n.parts.size(); ++i) {
      const node& one = n.parts[i];
      const bool plain = one.is != kind::named && one.is != kind::spread && one.is != kind::spread_named;
      value v = evaluate(plain ? one : one.parts[0], s);
      if (plain) {
        result.positional.push_back(std::move(v));
      } else if (one.is == kind::named) {
        result.named.emplace_back(one.name, std::move(v));
      } else if (one.is == kind::spread) {
        for (value& item : items_of(run_, v)) result.positional.push_back(std::move(item));
      } else {
        if (!v.dict()) refuse_type(run_, "**", v, "a dict");
        for (const auto& [key, item] : v.dict()->items) result.named.emplace_back(to_text(run_, key), item);
      }
    }
    return result;
  }

  // A function, a method or a macro.
  value call(const value& of, const arguments& given) {
    const callable* c = of.function();
    if (!c) refuse_type(run_, "a call", of, "a function");
    if (c->is == callable::kind::function) return functions_.call(c->name, given);
    return c->is == callable::kind::method ? call_method(run_, *c, given) : call_macro(*c, given);
  }
  // The text that a macro writes. Its names are those where it is defined, and its parameters.
  value call_macro(const callable& c, const arguments& given) {
    const scope_pointer around = c.around.lock();
    if (!around) run_.refuse("macro " + c.name, "the end of what it was defined in", "a call before that");
    const node& n = *c.body;
    const bool block = n.is == kind::call_block;
    const std::vector<node>& parameters = n.parts[block].parts;
    const scope_pointer own = inner(around);
    std::vector<value> more;  // varargs
    dictionary named;         // kwargs
    for (std::size_t i = 0; i < given.positional.size(); ++i) {
      if (i < parameters.size())
        own->set(parameters[i].name, given.positional[i]);
      else if (n.uses_varargs)
        more.push_back(given.positional[i]);
      else
        run_.refuse("macro " + c.name, "more arguments", "at most " + std::to_string(parameters.size()));
    }
    for (const auto& [name, v] : given.named) {
      const auto is_it = [&](const node& p) { return p.name == name; };
      const auto at = std::find_if(parameters.begin(), parameters.end(), is_it);
      const bool caller = name == "caller" && n.uses_caller;
      if (at != parameters.end() && !own->find(name))
        own->set(at->name, v);
      else if (at == parameters.end() && caller)
        own->set("caller", v);
      else if (at == parameters.end() && n.uses_kwargs)
        named.items.emplace_back(value(name), v);
      else
        run_.refuse("macro " + c.name, "the argument " + name, "another one");
    }
    for (const node& p : parameters) {
      if (own->find(p.name)) continue;
      if (p.parts[0].is != kind::nothing)
        own->set(p.name, evaluate(p.parts[0], own));
      else
        own->set(p.name, undefined{std::make_shared<const std::string>("no argument " + p.name)});
    }
    if (n.uses_varargs) own->set("varargs", run_.list(std::move(more), sequence::kind::tuple));
    if (n.uses_kwargs) own->set("kwargs", run_.dict(std::move(named)));
    if (n.uses_caller && !own->find("caller")) own->set("caller", undefined{});
    std::string out;
    execute(n.parts[block + 1], own, out);
    return run_.text(std::move(out));
  }

  limits& run_;
  functions functions_;
  scope_pointer root_ = std::make_shared<scope>();
  std::string* root_out_ = nullptr;
  value captured_;
};

}  // namespace tokamax::text::jinja
