import { damaged } from './sealed-file.ts';

/*
 * The content of an export is a sequence of frames. A frame consists of a letter, a length of four bytes, and the
 * payload. J: a JSON object that begins an entry; D: data of that entry.
 */

/** The entries of an export, in this order: keys, tables, volumes, end. */
export type Entry =
  /**
   * Keys of the vault in base64, beginning with the key that seals new secrets. `installation`: the id in the labels of
   * the engine's objects.
   */
  | { readonly kind: 'keys'; readonly keys: readonly string[]; readonly installation: string }
  /** The rows follow as data. */
  | { readonly kind: 'table'; readonly name: string; readonly columns: readonly string[] }
  /** The files follow as a tar archive. */
  | { readonly kind: 'volume'; readonly name: string; readonly labels: Readonly<Record<string, string>> }
  /** End of the export: it shows that nothing is missing. */
  | { readonly kind: 'end' };

export function entryFrame(entry: Entry): Buffer {
  return frame('J', Buffer.from(JSON.stringify(entry)));
}

export function dataFrame(data: Buffer): Buffer {
  return frame('D', data);
}

function frame(letter: 'J' | 'D', payload: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(letter, 'latin1');
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

/** Calls `onEntry` for each entry with its data. Data that `onEntry` does not read is skipped. EXPORT_UNREADABLE. */
export async function readEntries(
  content: AsyncIterable<Buffer>,
  onEntry: (entry: Entry, data: AsyncIterable<Buffer>) => Promise<void>,
): Promise<void> {
  const frames = splitFrames(content);
  let current = await frames.next();
  let last: Entry | undefined;
  while (current.done !== true) {
    if (current.value.letter !== 'J' || last?.kind === 'end') throw damaged();
    const entry = parsed(current.value.payload);
    const data = async function* (): AsyncGenerator<Buffer> {
      for (current = await frames.next(); current.done !== true && current.value.letter === 'D'; current = await frames.next()) {
        yield current.value.payload;
      }
    };
    const rest = data();
    await onEntry(entry, rest);
    let left = await rest.next();
    while (left.done !== true) left = await rest.next();
    last = entry;
  }
  if (last?.kind !== 'end') throw damaged();
}

function parsed(payload: Buffer): Entry {
  const entry: Entry = JSON.parse(payload.toString('utf8'));
  return entry;
}

interface Frame {
  readonly letter: string;
  readonly payload: Buffer;
}

async function* splitFrames(content: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let buffer = Buffer.alloc(0);
  for await (const chunk of content) {
    buffer = Buffer.concat([buffer, chunk]);
    let start = 0;
    while (buffer.length - start >= 5) {
      const length = buffer.readUInt32BE(start + 1);
      if (buffer.length - start < 5 + length) break;
      yield { letter: buffer.toString('latin1', start, start + 1), payload: buffer.subarray(start + 5, start + 5 + length) };
      start += 5 + length;
    }
    buffer = buffer.subarray(start);
  }
  if (buffer.length > 0) throw damaged();
}
