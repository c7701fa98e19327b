"""scripts/find-dead-code finds nothing in the sources, and would find what has no user."""

import runpy
import subprocess

from source_tree import ROOT

SCRIPT = ROOT / "scripts" / "find-dead-code"
FIND = runpy.run_path(str(SCRIPT))

SAMPLE = """
namespace weir {
enum class Kind { used, unused };
enum Flags : int { kFlag = 1 };
class Table final : public Base {
  public:
    explicit Table(int room) : room_(room), spare_{0} {}
    int used_inline(int weight = kFlag) const { return weight + room_; }
    int unused_inline() const { return unused_inline() + 1; }
    template <class T>
    T unused_template(T value) { return value; }
    void tick() override;
    static Table make();
  private:
    int room_;
    int spare_{};
};
std::function<void(int)> callback = [](int) {};
Table Table::make() {
    // unused_function() in a comment and "unused_function()" in a text are no uses.
    callback(1);
    return Table(static_cast<int>(Kind::used)).used_inline();
}
int unused_function(int size) { return size == 0 ? 0 : unused_function(size - 1); }
int main_function() { return Table::make().used_inline(main_function == nullptr); }
}  // namespace weir
"""


def test_nothing_is_unused():
    ran = subprocess.run([SCRIPT], capture_output=True, text=True)
    assert (ran.stdout, ran.returncode) == ("", 0), ran.stdout + ran.stderr


def test_what_has_no_user_would_be_seen(tmp_path):
    path = tmp_path / "table.cpp"
    path.write_text(SAMPLE)
    found = {finding.name: finding.line for finding in FIND["unused_names"]([path])}
    assert found == {"unused": 3, "unused_inline": 9, "unused_template": 11, "spare_": 16,
                     "unused_function": 24, "main_function": 25}


def test_each_reason_to_keep_a_name_is_a_sentence():
    assert all(" " in reason for kept in ("KEPT", "KEPT_FUNCTIONS") for reason in FIND[kept].values())
