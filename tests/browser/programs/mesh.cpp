// A mesh that is refined, smoothed and written: deep calls, recursion, templates, threads.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace mesh {

struct Cell {
    double value;
    int level;
};

double curvature(double x) { return std::sin(x) * std::exp(-x * x / 50); }

class Grid {
public:
    void refine(double begin, double end, int level) {
        double middle = (begin + end) / 2;
        double error = std::fabs(curvature(begin) + curvature(end) - 2 * curvature(middle));
        if (level < 6 || (error > 1e-4 && level < most_)) {
            refine(begin, middle, level + 1);
            refine(middle, end, level + 1);
            return;
        }
        cells_.push_back({curvature(middle), level});
    }

    template <typename Kernel> void smooth(int times, Kernel kernel) {
        for (int time = 0; time < times; time++)
            for (std::size_t at = 1; at + 1 < cells_.size(); at++)
                cells_[at].value = kernel(cells_[at - 1].value, cells_[at].value, cells_[at + 1].value);
    }

    double order() {
        std::vector<Cell> sorted(cells_);
        std::sort(sorted.begin(), sorted.end(),
                  [](const Cell &a, const Cell &b) { return a.value < b.value; });
        return sorted[sorted.size() / 2].value;
    }

    std::size_t size() const { return cells_.size(); }

private:
    std::vector<Cell> cells_;
    int most_ = 14;
};

double mean(double left, double here, double right) { return (left + 2 * here + right) / 4; }

double worker(int rounds) {
    double sum = 0;
    for (int round = 0; round < rounds; round++) {
        Grid grid;
        grid.refine(-20, 20, 0);
        grid.smooth(40, mean);
        grid.smooth(10, [](double a, double b, double c) { return std::cbrt(a * b * c); });
        sum += grid.order();
    }
    return sum;
}

} // namespace mesh

int main(int argc, char **argv) {
    int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
    double other = 0;
    std::thread thread([&other, rounds] { other = mesh::worker(rounds / 2); });
    double sum = mesh::worker(rounds);
    thread.join();
    std::printf("%g %g\n", sum, other);
    return 0;
}
