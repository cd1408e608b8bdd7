import { execFileSync } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { callEngine, findProgram, importImage, sharedLibraries, tarOf, type EngineConnection } from '@davit/drivers';
import type { Pack } from 'tar-stream';

/** Creates an image that contains only busybox with all its commands, unless the engine has it. Returns `reference`. */
export async function loadBusyboxImage(docker: EngineConnection, reference: string): Promise<string> {
  return load(docker, reference, (archive) => addBusybox(archive));
}

/** Like `loadBusyboxImage`, and adds the Node.js binary of this process at `/usr/local/bin/node`. */
export async function loadNodeImage(docker: EngineConnection, reference: string): Promise<string> {
  return load(docker, reference, (archive) => {
    addBusybox(archive);
    const libraries = sharedLibraries(process.execPath);
    for (const path of libraries) archive.entry({ name: path.slice(1), mode: 0o755 }, readFileSync(realpathSync(path)));
    archive.entry({ name: 'usr/local/bin/node', mode: 0o755 }, readFileSync(process.execPath));
  });
}

/** Adds busybox with a link for each of its commands, and the users root, nobody and those in `users` (ids by name). */
export function addBusybox(archive: Pack, users: Readonly<Record<string, number>> = {}): void {
  const busybox = findProgram('busybox');
  if (busybox === null) throw new Error('busybox is not installed (Debian: apt-get install busybox-static)');
  archive.entry({ name: 'bin/busybox', mode: 0o755 }, readFileSync(busybox));
  const commands = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).split('\n');
  for (const name of commands.filter((command) => command !== '' && command !== 'busybox'))
    archive.entry({ name: `bin/${name}`, type: 'symlink', linkname: 'busybox' });
  archive.entry({ name: 'tmp', type: 'directory', mode: 0o1777 });
  const all = Object.entries({ root: 0, nobody: 65_534, ...users });
  const passwd = all.map(([name, id]) => `${name}:x:${id}:${id}:${name}:/:/bin/sh\n`).join('');
  archive.entry({ name: 'etc/passwd', mode: 0o644 }, passwd);
  const group = all.map(([name, id]) => `${name === 'nobody' ? 'nogroup' : name}:x:${id}:\n`).join('');
  archive.entry({ name: 'etc/group', mode: 0o644 }, group);
}

/** Returns the files of the busybox image as a tar. */
export async function busyboxArchive(): Promise<Buffer> {
  return tarOf((archive) => addBusybox(archive));
}

async function load(docker: EngineConnection, reference: string, fill: (archive: Pack) => void): Promise<string> {
  const [name = reference, tag = 'latest'] = reference.split(':');
  const there = await callEngine(docker, { method: 'GET', path: `/images/${reference}/json`, signal, accept: [404] });
  if (there.status === 200) return reference;
  await importImage(docker, { name, tag, archive: await tarOf(fill) }, signal);
  return reference;
}

const signal = new AbortController().signal;
