#pragma once

#include <string>

namespace assay {

/// One line on stderr that says what runs and how long is left: rewritten in place on a terminal, otherwise printed
/// when what runs changes.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  void show(const std::string& what, double seconds_left);
  void say(const std::string& sentence);  ///< A line that stays.
  void clear();

 private:
  bool terminal_;
  std::string last_;
  double shown_s_ = 0;
};

}  // namespace assay
