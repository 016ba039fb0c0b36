import { expect } from "chai";

import { ChunkSize } from "../../src/client/orders/chunk-size.js";

describe("client - ChunkSize", () => {
  it("should start where it is told, but never above the most", () => {
    expect(new ChunkSize(100, 500).current).to.equal(100);
    expect(new ChunkSize(100, 30).current).to.equal(30);
  });

  it("should double with success, up to the most", () => {
    const size = new ChunkSize(100, 500);
    const seen = [1, 2, 3, 4].map(() => {
      size.succeeded(size.current);
      return size.current;
    });
    expect(seen).to.deep.equal([200, 400, 500, 500]);
  });

  it("should learn nothing from a request for less", () => {
    const size = new ChunkSize(100, 500);
    size.succeeded(99);
    expect(size.current).to.equal(100);
  });

  it("should halve what failed, once for several that failed together", () => {
    const size = new ChunkSize(100, 500);
    size.failed(100);
    size.failed(100);
    size.failed(100);
    expect(size.current).to.equal(50);
  });

  it("should never fall below one", () => {
    const size = new ChunkSize(2, 500);
    for (const count of [2, 1, 1]) {
      size.failed(count);
    }
    expect(size.current).to.equal(1);
  });

  it("should grow again, more slowly after each failure", () => {
    const size = new ChunkSize(64, 64);
    const successesToGrow = (): number => {
      const before = size.current;
      let count = 0;
      while (size.current === before) {
        size.succeeded(size.current);
        ++count;
      }
      return count;
    };
    size.failed(64);
    expect(successesToGrow()).to.equal(2);
    size.failed(64);
    expect(successesToGrow()).to.equal(4);
  });

  it("should take several that failed together for one failure", () => {
    const size = new ChunkSize(64, 64);
    for (const count of [64, 64, 64, 64]) {
      size.failed(count);
    }
    size.succeeded(32);
    size.succeeded(32);
    expect(size.current).to.equal(64);
  });

  it("should take what fitted into one call as the size", () => {
    const size = new ChunkSize(400, 500);
    size.limitedTo(120);
    expect(size.current).to.equal(120);
    size.succeeded(120);
    expect(size.current).to.equal(240);
  });
});
