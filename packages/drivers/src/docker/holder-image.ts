import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { pack } from 'tar-stream';
import type { EngineConnection } from './connection.ts';
import { call } from './engine-api.ts';
import { findProgram } from './own-podman.ts';

const run = promisify(execFile);

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
 * this
 * machine with their libraries, so that no registry is needed. Fails if this machine does not have the programs.
 */
export async function holderImage(docker: EngineConnection, signal: AbortSignal): Promise<string> {
  const files = await holderFiles();
  const hash = createHash('sha256');
  for (const [name, content] of files) hash.update(`${name}\0${content.length}\0`).update(content);
  const [repo, tag] = ['davit/address', hash.digest('hex').slice(0, 16)];
  const reference = `localhost/${repo}:${tag}`;
  const there = await call(docker, { method: 'GET', path: `/images/${reference}/json`, signal, accept: [404] });
  if (there.status === 200) return reference;
  const query = { fromSrc: '-', repo: `localhost/${repo}`, tag };
  const archive = await packed(files);
  const imported = await call(docker, { method: 'POST', path: '/images/create', query, archive, signal });
  const id = /sha256:[0-9a-f]{64}/.exec(JSON.stringify(imported.body))?.[0];
  if (id === undefined) throw new Error(`the engine imported no image: ${JSON.stringify(imported.body)}`);
  // Podman 4.3 ignores the tag when it imports.
  await call(docker, { method: 'POST', path: `/images/${id}/tag`, query: { repo: `localhost/${repo}`, tag }, signal });
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
    for (const library of await librariesOf(found)) files.set(library.slice(1), await readFile(library));
  }
  return [...files].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Returns the paths of the libraries of a program, as the loader finds them. A static program has none. */
async function librariesOf(program: string): Promise<string[]> {
  const listed = await run('ldd', [program]).catch(() => ({ stdout: '' }));
  return [...listed.stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].flatMap(([, path]) => (path === undefined ? [] : [path]));
}

async function packed(files: readonly [string, Buffer][]): Promise<Buffer> {
  const archive = pack();
  for (const [name, content] of files) archive.entry({ name, mode: 0o755, uid: 0, gid: 0, mtime: new Date(0) }, content);
  archive.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of archive) if (chunk instanceof Uint8Array) chunks.push(chunk);
  return Buffer.concat(chunks);
}
