import { join, relative, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pack as packFolder } from 'tar-fs';
import { pack } from 'tar-stream';
import type { TerraformRun } from '../../terraform-driver.ts';
import { backendFile, backendText, erroredFile } from '../commands.ts';
import { locations } from './supervisor.ts';

/**
 * Returns the checked-out files of a run and its backend file as an archive for the folder of its pod. The file that
 * marks them as complete comes last, as an interrupted transfer leaves some of the files behind.
 */
export function filesOf(run: TerraformRun): Readable {
  const source = join(run.folder, 'source');
  const text = backendText(run.backend);
  const override = join('/', run.rootPath, backendFile).slice(1);
  // A file with this name belongs to another run, and must not be taken for a state that this run could not store.
  const left = [override, join('/', run.rootPath, erroredFile).slice(1)];
  const archive = packFolder(source, {
    ignore: (name) => left.includes(relative(source, name)),
    map: (header) => ({ ...header, name: join('source', header.name).split(sep).join('/'), uid: 0, gid: 0 }),
    finalize: false,
    finish: (tar) => {
      if (text !== null) tar.entry({ name: `source/${override}` }, text);
      tar.entry({ name: locations.ready }, '');
      tar.finalize();
    },
  });
  return readableOf(archive);
}

/** Returns an archive of small files, in this order. */
export function smallFiles(files: readonly { readonly name: string; readonly text: string }[]): Readable {
  const archive = pack();
  for (const { name, text } of files) archive.entry({ name, mode: 0o600 }, text);
  archive.finalize();
  return readableOf(archive);
}

// The archive is a stream of another type than Node's own, with the same bytes.
function readableOf(archive: AsyncIterable<unknown>): Readable {
  return Readable.from(archive, { objectMode: false });
}
