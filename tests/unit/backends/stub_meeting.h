// SPDX-License-Identifier: Apache-2.0
// Where calls of two processes to the stub vendor driver wait for each other.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace stub {

/// Waits until another process is in `folder`, too, where "gate" is a FIFO.
inline void meet(const std::string& folder) {
  const int came = open((folder + "/came").c_str(), O_CREAT | O_APPEND | O_WRONLY, 0600);
  const int gate = open((folder + "/gate").c_str(), O_RDWR);  // a FIFO
  struct stat file {};
  char word[] = "go";
  bool well = write(came, word, 1) == 1 && fstat(came, &file) == 0;
  if (well && file.st_size > 1) well = write(gate, word, 2) == 2;
  if (!well || read(gate, word, 1) != 1) std::abort();
}

}  // namespace stub
