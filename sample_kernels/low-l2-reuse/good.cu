// Shows: the same sums with the bags in the order of the rows: what runs together shares its rows
// Expect: l2-bandwidth-bound
// Arguments: [rows = 1572864]
#include "bags.cuh"

int main(int argc, char** argv) {
  return sum_bags_and_check(
      "low-l2-reuse/good", [](std::size_t turn, std::size_t) { return turn; }, argc, argv);
}
