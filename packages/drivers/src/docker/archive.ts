import { once } from 'node:events';
import { pack } from 'tar-stream';
import type { ArchiveEntry } from './container-spec.ts';

/** Returns a tar archive of these files, owned by root, and of these folders, which are writable by everyone. */
export async function toArchive(files: readonly ArchiveEntry[], folders: readonly string[] = []): Promise<Buffer> {
  const archive = pack();
  for (const file of files) archive.entry({ name: file.name, mode: file.mode, uid: 0, gid: 0 }, file.content.reveal());
  for (const folder of folders) {
    archive.entry({ name: folder.replace(/^\/+/, ''), type: 'directory', mode: 0o1777, uid: 0, gid: 0 });
  }
  archive.finalize();
  const chunks: Uint8Array[] = [];
  archive.on('data', (chunk) => chunk instanceof Uint8Array && chunks.push(chunk));
  await once(archive, 'end');
  return Buffer.concat(chunks);
}
