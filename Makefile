# make            install what is missing, build; the program is then ./build/firn
# make demo       drop a snowball in 3D and in 2D and leave pictures and a film
# make gallery    run every scene of docs/gallery.md at reduced size and draw it
# make test       build and run every quick test
# make test-full  also: sanitizers, thread checks, fuzzing, slow physics
# make docs       regenerate docs/scene.md and docs/scene.schema.json
# make format     clang-format everything
.PHONY: all demo gallery test test-full docs format clean
SOURCES = $(shell git ls-files '*.c' '*.h' '*.cu' '*.cc')

all:
	@scripts/setup build
	@cmake --preset release -DFIRN_TESTS=OFF >/dev/null
	@cmake --build build

demo: all
	@scripts/setup demo
	@scripts/demo

gallery: all
	@scripts/setup demo
	@scripts/gallery

test:
	@scripts/setup test
	@cmake --preset release -DFIRN_TESTS=ON >/dev/null
	@cmake --build build
	@ctest --test-dir build --output-on-failure -LE slow -j 2

test-full: test
	@scripts/setup full
	@scripts/test-full

docs: all
	@./build/firn reference > docs/scene.md
	@./build/firn schema > docs/scene.schema.json

format:
	@clang-format -i $(SOURCES)

clean:
	@rm -rf build build-*
