import { join, relative, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pack as packFolder } from 'tar-fs';
import { pack } from 'tar-stream';
import type { TerraformRun } from '../../terraform-driver.ts';
import { backendFile, backendText, erroredFile } from '../commands.ts';
import { places } from './supervisor.ts';

/**
 * The checked-out files of a run with its backend, as an archive for the folder of its pod. What says that they are all there comes
 * last, as what breaks in the middle leaves a part behind.
 */
export function filesOf(run: TerraformRun): Readable {
  const source = join(run.folder, 'source');
  const text = backendText(run.backend);
  const override = join('/', run.rootPath, backendFile).slice(1);
  // What lies there is of another run, and must not be taken for what this one could not store.
  const left = [override, join('/', run.rootPath, erroredFile).slice(1)];
  const archive = packFolder(source, {
    ignore: (name) => left.includes(relative(source, name)),
    map: (header) => ({ ...header, name: join('source', header.name).split(sep).join('/'), uid: 0, gid: 0 }),
    finalize: false,
    finish: (tar) => {
      if (text !== null) tar.entry({ name: `source/${override}` }, text);
      tar.entry({ name: places.ready }, '');
      tar.finalize();
    },
  });
  return readableOf(archive);
}

/** An archive of small files, in that order. */
export function smallFiles(files: readonly { readonly name: string; readonly text: string }[]): Readable {
  const archive = pack();
  for (const { name, text } of files) archive.entry({ name, mode: 0o600 }, text);
  archive.finalize();
  return readableOf(archive);
}

// Archives are streams of another make than Node's own, with the same bytes.
function readableOf(archive: AsyncIterable<unknown>): Readable {
  return Readable.from(archive, { objectMode: false });
}
