// Shows: sums of neighbouring rows, computed in an order that has nothing to do with the rows
// Expect: low-l2-reuse
// Arguments: [rows = 1572864]
//
// Every row is read 32 times, but blocks that run at the same time read rows from all over a table
// three times the size of L2: most have been evicted when they are wanted again. good.cu is the
// same kernel with the bags in the order of the rows.
#include "bags.cuh"

#include <numeric>

int main(int argc, char** argv) {
  return sum_bags_and_check(
      "low-l2-reuse/bad",
      [](std::size_t turn, std::size_t rows) {
        std::size_t step = 618033989;  // any number without a common factor visits each bag once
        while (std::gcd(step, rows) != 1) ++step;
        return turn * step % rows;
      },
      argc, argv);
}
