import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { tarOf } from './archive.ts';
import type { EngineConnection } from './connection.ts';
import { call } from './engine-api.ts';
import { importImage, sharedLibraries } from './image-import.ts';
import { findProgram } from './own-podman.ts';

/** Programs that a holder needs, by their paths in its image. `conntrack` may be missing: see `Addresses`. */
const programs: Readonly<Record<string, string>> = {
  'bin/sh': 'sh',
  'bin/sleep': 'sleep',
  'usr/sbin/nft': 'nft',
  'usr/sbin/conntrack': 'conntrack',
};
const optional = new Set(['conntrack']);

/**
 * Makes sure that the engine has the image of the holders, and returns its reference. The image has the programs of
 * this machine with their libraries, so that no registry is needed. Fails if this machine does not have the programs.
 */
export async function holderImage(docker: EngineConnection, signal: AbortSignal): Promise<string> {
  const files = await holderFiles();
  const hash = createHash('sha256');
  for (const [name, content] of files) hash.update(`${name}\0${content.length}\0`).update(content);
  const [name, tag] = ['localhost/davit/address', hash.digest('hex').slice(0, 16)];
  const reference = `${name}:${tag}`;
  const there = await call(docker, { method: 'GET', path: `/images/${reference}/json`, signal, accept: [404] });
  if (there.status === 404) await importImage(docker, { name, tag, archive: await packed(files) }, signal);
  return reference;
}

/** Returns the contents of the image by path, sorted. */
async function holderFiles(): Promise<[string, Buffer][]> {
  const files = new Map<string, Buffer>();
  for (const [name, program] of Object.entries(programs)) {
    const found = findProgram(program);
    if (found === null && optional.has(program)) continue;
    if (found === null) throw new Error(`${program} is not installed on the machine of Davit (Debian: nftables)`);
    files.set(name, await readFile(found));
    for (const library of sharedLibraries(found)) files.set(library.slice(1), await readFile(library));
  }
  return [...files].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function packed(files: readonly [string, Buffer][]): Promise<Buffer> {
  const header = { mode: 0o755, uid: 0, gid: 0, mtime: new Date(0) };
  return tarOf((archive) => {
    for (const [name, content] of files) archive.entry({ ...header, name }, content);
  });
}
