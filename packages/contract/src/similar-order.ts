/*
 * gzip finds repetitions within 32 KiB. The compressed document is smaller by a tenth if what is similar is close
 * together: the same action on each type of service, and shapes with the same properties or words.
 */

/** A text of some characters that more than one value contains. */
interface Piece<T> {
  readonly owners: Item<T>[];
  /** Values before the next one, as far as gzip looks back, that contain the piece. */
  near: number;
}

interface Item<T> {
  readonly entry: readonly [string, T];
  readonly bytes: number;
  readonly pieces: Piece<T>[];
  /** The weights of the pieces that the value shares with those just before it. */
  shared: number;
}

/** Bytes of the values before a value in which gzip still finds repetitions: about its 32 KiB. */
const windowBytes = 33_000;
/** The number of characters. Measured: 9 or fewer, and 11 or more, make the document larger. */
const pieceLength = 10;
/** Measured: with 0, long values come first; with 1, short ones do. Both make the document larger. */
const sizeExponent = 0.65;

/**
 * Returns the values so that each one shares most text with those just before it. Rare texts count more than frequent
 * ones. The order depends only on the values. It takes some 200 ms for a thousand values.
 */
export function withSimilarTogether<T>(values: Iterable<readonly [string, T]>): Record<string, T> {
  const left = new Set(itemsOf([...values].toSorted(([one], [other]) => (one < other ? -1 : 1))));
  const ordered: Item<T>[] = [];
  let bytes = 0;
  let first = 0;
  for (let [next] = left; next !== undefined; next = mostSimilar(left)) {
    left.delete(next);
    ordered.push(next);
    bytes += next.bytes;
    enter(next);
    for (let old = ordered[first]; bytes > windowBytes && old !== undefined && old !== next; old = ordered[first]) {
      leave(old);
      bytes -= old.bytes;
      first += 1;
    }
  }
  return Object.fromEntries(ordered.map(({ entry }) => entry));
}

function itemsOf<T>(entries: readonly (readonly [string, T])[]): Item<T>[] {
  const pieces = new Map<number, Piece<T>>();
  return entries.map((entry) => {
    const text = JSON.stringify(entry);
    const item: Item<T> = { entry, bytes: text.length, pieces: [], shared: 0 };
    for (const hash of hashesOf(text)) {
      const piece = pieces.get(hash) ?? { owners: [], near: 0 };
      pieces.set(hash, piece);
      piece.owners.push(item);
      item.pieces.push(piece);
    }
    return item;
  });
}

/** Returns the hashes of the text's pieces. */
function hashesOf(text: string): ReadonlySet<number> {
  const hashes = new Set<number>();
  for (let start = 0; start + pieceLength <= text.length; start += 1) {
    let hash = 0;
    for (let index = start; index < start + pieceLength; index += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0;
    hashes.add(hash);
  }
  return hashes;
}

/** Measured: the logarithm that is usual for rare words makes the document larger. */
function weight<T>({ owners }: Piece<T>): number {
  return 1 / owners.length;
}

function enter<T>(item: Item<T>): void {
  for (const piece of item.pieces) {
    piece.near += 1;
    if (piece.near === 1) for (const owner of piece.owners) owner.shared += weight(piece);
  }
}

function leave<T>(item: Item<T>): void {
  for (const piece of item.pieces) {
    piece.near -= 1;
    if (piece.near === 0) for (const owner of piece.owners) owner.shared -= weight(piece);
  }
}

function mostSimilar<T>(left: ReadonlySet<Item<T>>): Item<T> | undefined {
  let best: Item<T> | undefined;
  let most = -Infinity;
  for (const item of left) {
    const likeness = item.shared / item.bytes ** sizeExponent;
    if (likeness > most) [best, most] = [item, likeness];
  }
  return best;
}
