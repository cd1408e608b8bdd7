const flush = '0000';
/** Largest text of one packet of side-band-64k. */
const largestText = 65_000;

/** Returns a packet that git shows as lines with `remote: ` before them. */
export function remoteText(text: string): Buffer {
  const bytes = Buffer.from(text).subarray(0, largestText);
  return Buffer.concat([Buffer.from((bytes.length + 5).toString(16).padStart(4, '0')), Buffer.from([2]), bytes]);
}

/** A packet without content that keeps the connection from being idle. */
export const keepAlive = Buffer.from('0005\u0001', 'latin1');

/** Splits git's output into packets and withholds the flush packet at its end, so that more packets can follow. */
export class Packets {
  #rest: Buffer = Buffer.alloc(0);
  /** Whether the output ended with a flush packet, as all output with a side band does. */
  hasEnded = false;

  /** Returns the bytes that can be sent. */
  add(chunk: Buffer): Buffer {
    let bytes = Buffer.concat([this.#rest, chunk]);
    const out: Buffer[] = [];
    while (bytes.length >= 4) {
      const start = bytes.toString('latin1', 0, 4);
      const length = start === flush ? 4 : Number.parseInt(start, 16);
      if (!/^[0-9a-f]{4}$/.test(start) || length < 4) throw new Error('git wrote something other than packets');
      if (bytes.length < length) break;
      if (this.hasEnded) out.push(Buffer.from(flush));
      this.hasEnded = start === flush;
      if (!this.hasEnded) out.push(bytes.subarray(0, length));
      bytes = bytes.subarray(length);
    }
    this.#rest = bytes;
    return Buffer.concat(out);
  }

  /** Returns the bytes that end the output. */
  end(): Buffer {
    return this.hasEnded ? Buffer.from(flush) : this.#rest;
  }
}
