// Calls 50 levels deep by ways that hardly ever come again: each level has four places to call from.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

static std::uint64_t state = 1;

static unsigned next()
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return static_cast<unsigned>(state >> 62);
}

template <int Level> struct Walk {
	[[gnu::noinline]] static std::uint64_t down(std::uint64_t x)
	{
		switch (next()) {
		case 0:
			return Walk<Level - 1>::down(x + 1) ^ 3;
		case 1:
			return Walk<Level - 1>::down(x * 3) + 5;
		case 2:
			return Walk<Level - 1>::down(x - 7) * 7;
		default:
			return Walk<Level - 1>::down(~x) - 9;
		}
	}
};

template <> struct Walk<0> {
	[[gnu::noinline]] static std::uint64_t down(std::uint64_t x)
	{
		for (int i = 0; i < 20000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
		return x;
	}
};

int main(int argc, char **argv)
{
	std::uint64_t x = 1;

	for (int i = argc > 1 ? std::atoi(argv[1]) : 1000; i > 0; i--)
		x = Walk<50>::down(x);
	std::printf("%d\n", static_cast<int>(x & 1));
}
