// examples/37_other_checkpoints.cpp: a model from Hugging Face to here, to Orbax, and back. New here: files in parts, Orbax's folders.
#include <tokamax/checkpoint.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <array>

namespace tk = tokamax;
namespace checkpoint = tokamax::checkpoint;

// Our model: a weight is [in, out].
struct layer {
  tk::array kernel, bias;
};
struct model {
  std::array<layer, 2> layers;
};
// PyTorch's weights are [out, in], and its names have dots.
std::string name(std::size_t i, const char* part) { return fmt::format("layers.{}.{}", i, part); }

void show(const char* what, const auto& arrays) {
  fmt::print("{}\n", what);
  for (const auto& [name, stored] : arrays) fmt::print("  {}  {}\n", name, tk::message(stored.type).view());
}

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tokamax_37_other";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "hub");
  std::filesystem::create_directories(folder / "back");

  // What others saved: files of at most 64 bytes with an index, as save_pretrained writes large models.
  std::vector<checkpoint::named_array> theirs;
  for (std::size_t i = 0; i < 2; ++i) {
    theirs.push_back({name(i, "weight"), tk::reshape(tk::arange(12) + 100.0f * static_cast<float>(i), {3, 4})});
    theirs.push_back({name(i, "bias"), 0.5f * tk::arange(3)});
  }
  for (auto& [unused, value] : theirs) value.materialize();
  checkpoint::write_safetensors_folder(folder / "hub", theirs, 64);

  // From Hugging Face: arrays by name, from whichever file has them. An array is read when it is asked for.
  const checkpoint::safetensors_folder hub(folder / "hub");
  show("Hugging Face", hub.arrays());
  model ours;
  for (std::size_t i = 0; i < 2; ++i)
    ours.layers[i] = {tk::transpose(hub.read(name(i, "weight"))), hub.read(name(i, "bias"))};

  // To Orbax: step 5 of a run. Its CheckpointManager restores it, and we restore what it saves.
  checkpoint::save_orbax(folder / "run/5/default", ours);
  const checkpoint::orbax_folder run(folder / "run/5");
  show("Orbax", run.arrays());
  // Leaves without data say which shapes and dtypes are expected.
  model again = tk::tree_map([](const tk::array& a) { return tk::array(a.type()); }, ours);
  checkpoint::restore_orbax(folder / "run/5", again);

  // A tree of other names takes a part, as another dtype.
  struct {
    tk::array weight = tk::array({tk::bf16, false, {4, 3}});
  } first;
  checkpoint::restore_orbax(folder / "run/5", first,
                            {.partial = true, .rename = {{"weight", "layers[0].kernel"}}, .cast = true});
  fmt::print("a part  {}\n", tk::message(first.weight.type()).view());

  // And back: every bit is there.
  std::vector<checkpoint::named_array> back;
  for (std::size_t i = 0; i < 2; ++i) {
    back.push_back({name(i, "weight"), tk::transpose(again.layers[i].kernel)});
    back.push_back({name(i, "bias"), again.layers[i].bias});
  }
  for (auto& [unused, value] : back) value.materialize();
  checkpoint::write_safetensors_folder(folder / "back", back, std::uint64_t{1} << 30);
  const checkpoint::safetensors_folder last(folder / "back");
  for (const auto& [name, value] : theirs) {
    const tk::array found = last.read(name);
    fmt::print(
        "{}  {}\n", name,
        std::equal(found.bytes(), found.bytes() + found.size() * 4, value.bytes()) ? "the same bits" : "differs");
  }
  std::filesystem::remove_all(folder);
}
