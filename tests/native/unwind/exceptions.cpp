// Exceptions on their way, destructors run by them, virtual calls.
#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static volatile int sink;

struct Guard {
	explicit Guard(int n) : n(n) {}
	~Guard() { sink = sink + n; }
	int n;
};

struct Shape {
	virtual ~Shape() = default;
	virtual int area() const = 0;
};

struct Square : Shape {
	explicit Square(int side) : side(side) {}
	int area() const override
	{
		if (side > 3)
			throw std::out_of_range(std::string("side ") + std::to_string(side));
		return side * side;
	}
	int side;
};

__attribute__((noinline)) static int total(const std::vector<std::unique_ptr<Shape>> &shapes)
{
	int sum = 0;
	for (const auto &shape : shapes) {
		Guard guard(sum);
		sum += shape->area();
	}
	return sum;
}

__attribute__((noinline)) static int caught(int last)
{
	std::vector<std::unique_ptr<Shape>> shapes;
	for (int side = 1; side <= last; side++)
		shapes.push_back(std::make_unique<Square>(side));
	try {
		return total(shapes);
	} catch (const std::exception &error) {
		return static_cast<int>(std::string(error.what()).size());
	}
}

int main()
{
	std::vector<int> numbers{5, 2, 8, 1};
	std::function<bool(int, int)> before = [](int a, int b) { return a + sink < b + sink; };
	std::sort(numbers.begin(), numbers.end(), before);
	return caught(2) + caught(5) == 5 + 6 ? 0 : 1;
}
