import type { Frame } from '../shared/log-lines.ts';

/**
 * Splits an engine's multiplexed stream into frames (Engine API, "Attach to a container"): one byte for the stream,
 * three zero bytes, four bytes of length, the payload. Chunks may end anywhere.
 */
export class FrameReader {
  #chunks: Buffer[] = [];
  #length = 0;

  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    const frames: Frame[] = [];
    for (;;) {
      if (this.#length < 8) return frames;
      const header = this.#peek(8);
      const size = header.readUInt32BE(4);
      if (this.#length < 8 + size) return frames;
      const frame = this.#take(8 + size);
      frames.push({ stream: frame[0] === 2 ? 'stderr' : 'stdout', payload: frame.subarray(8) });
    }
  }

  #peek(count: number): Buffer {
    return this.#first(count);
  }

  #take(count: number): Buffer {
    const first = this.#first(count);
    const taken = first.subarray(0, count);
    if (first.length === count) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(count);
    this.#length -= count;
    return taken;
  }

  // Chunks are joined only if a header or a complete frame spans them, so that a large frame in many chunks is copied
  // only once.
  #first(count: number): Buffer {
    const [first] = this.#chunks;
    if (first && first.length >= count) return first;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }
}
