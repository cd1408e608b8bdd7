import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';

/** Maximum size of an unpacked chart in bytes. Anything larger is not a chart, or is meant to exhaust memory. */
const maxBytes = 64 * 1024 * 1024;
const largestFile = 4 * 1024 * 1024;

/**
 * Returns the text of a file at the top level of a chart's archive. Null if the archive does not have the file. Throws
 * if the data is not an archive or is too large.
 */
export async function readFromChart(archive: Uint8Array, name: string): Promise<string | null> {
  const entries = extract();
  let found: string | null = null;
  let bytes = 0;
  const unpacked = createGunzip();
  unpacked.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > maxBytes) unpacked.destroy(new Error(`it unpacks to more than ${maxBytes} bytes`));
  });
  const looked = (async () => {
    for await (const entry of entries) {
      const { name: path, type, size } = entry.header;
      // All files of a chart are in one folder, which can have any name.
      if (type === 'file' && path.replace(/^\.\//, '').replace(/^[^/]+\//, '') === name && found === null) {
        if (size > largestFile) throw new Error(`${path} is larger than ${largestFile} bytes`);
        found = await text(entry);
      } else entry.resume();
    }
  })();
  await Promise.all([pipeline(Readable.from([archive]), unpacked, entries), looked]);
  return found;
}
