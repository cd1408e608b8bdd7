import { pack, type Pack } from 'tar-stream';
import type { ArchiveEntry } from './container-spec.ts';

/** Returns a tar archive with the entries that `fill` adds. */
export async function tarOf(fill: (archive: Pack) => void): Promise<Buffer> {
  const archive = pack();
  fill(archive);
  archive.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of archive) if (chunk instanceof Uint8Array) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Returns a tar archive of these files, owned by root, and of these folders, which are writable by everyone. */
export function toArchive(files: readonly ArchiveEntry[], folders: readonly string[] = []): Promise<Buffer> {
  return tarOf((archive) => {
    for (const file of files) archive.entry({ name: file.name, mode: file.mode, uid: 0, gid: 0 }, file.content.reveal());
    for (const folder of folders) {
      archive.entry({ name: folder.replace(/^\/+/, ''), type: 'directory', mode: 0o1777, uid: 0, gid: 0 });
    }
  });
}
