// The shares of shares.c by virtual functions, templates and an exception for every card.
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

namespace shares
{
struct Task {
	virtual ~Task() = default;
	virtual unsigned long perform(unsigned long x) const = 0;
};

[[gnu::noinline]] unsigned long work(unsigned long x)
{
	for (int i = 0; i < 3000; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	return x;
}

template <int Share> struct Shared : Task {
	[[gnu::noinline]] unsigned long perform(unsigned long x) const override
	{
		return work(x) + Share;
	}
};

[[gnu::noinline]] unsigned long dispatch(const Task &task, unsigned long x)
{
	const unsigned long y = task.perform(x);

	if (y != x)
		throw y;
	return y;
}
} // namespace shares

int main(int argc, char **argv)
{
	std::vector<std::unique_ptr<shares::Task>> deck;
	std::mt19937 random(1);
	unsigned long x = 1;

	for (int i = 0; i < 5; i++)
		deck.push_back(std::make_unique<shares::Shared<50>>());
	for (int i = 0; i < 3; i++)
		deck.push_back(std::make_unique<shares::Shared<30>>());
	for (int i = 0; i < 2; i++)
		deck.push_back(std::make_unique<shares::Shared<20>>());
	for (int round = argc > 1 ? std::atoi(argv[1]) : 1000; round > 0; round--) {
		for (std::size_t i = deck.size() - 1; i > 0; i--)
			std::swap(deck[i], deck[random() % (i + 1)]);
		for (const auto &task : deck) {
			try {
				x = shares::dispatch(*task, x);
			} catch (unsigned long y) {
				x = y;
			}
		}
	}
	return x == 0;
}
