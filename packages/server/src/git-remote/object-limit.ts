import { Transform, type TransformCallback } from 'node:stream';

/** Bytes at the beginning of a pack: PACK, its version and the number of its objects. */
const headerBytes = 12;
const lengthBytes = 4;
/** git writes the length 0000 after the last packet, and accepts also 0001 and 0002, which end other lists of packets. */
const longestEnd = 2;

/**
 * Passes a push to git unless its pack has too many objects. git limits the bytes of a pack only, and needs memory for
 * each object. A push is a list of packets, each with its length in four hexadecimal digits, then a length that ends the
 * list, then the pack. After a refusal nothing more is passed, and the rest is read, so that the client sees the refusal.
 */
export class ObjectLimit extends Transform {
  readonly #atMost: number;
  /** Bytes that were not looked at yet, of an incomplete length or header. */
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes of the current packet that are still to come. */
  #packetLeft = 0;
  #isAtPack = false;
  #isDone = false;
  #refusal: string | null = null;

  constructor(atMost: number) {
    super();
    this.#atMost = atMost;
  }

  /** Why the push is refused; null: it is not. */
  get refusal(): string | null {
    return this.#refusal;
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    if (!this.#isDone) this.#look(chunk);
    if (this.#refusal === null) this.push(chunk);
    done();
  }

  #look(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (!this.#isAtPack) {
      const passed = Math.min(this.#packetLeft, bytes.length);
      this.#packetLeft -= passed;
      bytes = bytes.subarray(passed);
      if (bytes.length < lengthBytes) break;
      const length = Number.parseInt(bytes.toString('latin1', 0, lengthBytes), 16);
      bytes = bytes.subarray(lengthBytes);
      if (length >= lengthBytes) this.#packetLeft = length - lengthBytes;
      else if (length <= longestEnd) this.#isAtPack = true;
      // git reports what is no packet.
      else return void (this.#isDone = true);
    }
    this.#rest = bytes;
    if (this.#isAtPack && bytes.length >= headerBytes) this.#judge(bytes);
  }

  #judge(header: Buffer): void {
    this.#isDone = true;
    this.#rest = Buffer.alloc(0);
    if (header.toString('latin1', 0, 4) !== 'PACK') return;
    const count = header.readUInt32BE(8);
    if (count <= this.#atMost) return;
    this.#refusal = `The push has ${count} objects (files, folders and commits), and may have ${this.#atMost}. Push it in parts, an older commit first: git push <remote> <commit>:refs/heads/<branch>. Or push without the history: git push <remote> $(git commit-tree HEAD^{tree} -m import):refs/heads/<branch>. The operator sets the limit with DAVIT_GIT_PUSH_OBJECTS.`;
  }
}
