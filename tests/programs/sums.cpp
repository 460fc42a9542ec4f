// C++ that throws, catches and allocates: a sorted map of words, and the sum of their lengths.
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

int main(int argc, char **argv)
{
	std::map<std::string, std::size_t> lengths;
	for (int at = 0; at < 2000; at++) {
		std::string word = std::to_string(at * 7919 % 2003);
		lengths[word] += word.size();
	}
	std::size_t sum = 0;
	for (const auto &[word, length] : lengths)
		sum += length;
	std::cout << lengths.size() << ' ' << sum << '\n';
	try {
		if (argc > 1)
			throw std::runtime_error(argv[1]);
	} catch (const std::exception &error) {
		std::cerr << error.what() << '\n';
		return 7;
	}
	return 0;
}
