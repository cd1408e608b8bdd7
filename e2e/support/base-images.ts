import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { EngineClient } from '@davit/testkit/engine-client';
import { addBusybox } from '../../packages/testkit/src/engine-images.ts';
import { callEngine, findProgram, importImage, sharedLibraries, tarOf } from '../../packages/drivers/src/index.ts';

type Archive = Parameters<typeof addBusybox>[0];

/*
 * Base images of generated Dockerfiles under their own names, made of this machine's programs: the engines of tests
 * reach no registry.
 */

/** Creates `docker.io/library/node:24-slim`: Node.js, npm, a shell and the user node. */
export async function loadNodeBase(docker: EngineClient): Promise<void> {
  const npm = path.dirname(path.dirname(realpathSync(findProgram('npm') ?? '')));
  await load(docker, { name: 'docker.io/library/node', tag: '24-slim', users: { node: 1000 } }, (archive) => {
    addPrograms(archive, { 'usr/local/bin/node': process.execPath });
    addFolder(archive, npm, 'usr/local/lib/node_modules/npm');
    const script = '#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/npm-cli.js "$@"\n';
    archive.entry({ name: 'usr/local/bin/npm', mode: 0o755 }, script);
  });
}

/** The Python of the system, which has its own version; null: there is none. */
export function systemPython(): { readonly version: string; readonly library: string } | null {
  if (!existsSync('/usr/bin/python3')) return null;
  const version = /^Python (\d+\.\d+)/.exec(execFileSync('/usr/bin/python3', ['--version'], { encoding: 'utf8' }))?.[1];
  const library = `/usr/lib/python${version}`;
  return version !== undefined && existsSync(path.join(library, 'http/server.py')) ? { version, library } : null;
}

/** Creates `docker.io/library/python:<v>-slim` of the Python, without pip: for programs without packages. */
export async function loadPythonBase(docker: EngineClient, version: string, library: string): Promise<void> {
  await load(docker, { name: 'docker.io/library/python', tag: `${version}-slim`, users: {} }, (archive) => {
    addPrograms(archive, { 'usr/bin/python': realpathSync('/usr/bin/python3'), 'usr/sbin/useradd': '/usr/sbin/useradd' });
    addFolder(archive, library, library.slice(1));
    archive.entry({ name: 'etc/login.defs', mode: 0o644 }, 'UID_MIN 1000\nGID_MIN 1000\n');
    archive.entry({ name: 'etc/shadow', mode: 0o600 }, 'root:*:19000:0:99999:7:::\n');
    archive.entry({ name: 'home', type: 'directory', mode: 0o755 });
  });
}

/**
 * Creates a stand-in for `docker.io/nginxinc/nginx-unprivileged:stable-alpine`: it serves the same folder on the same
 * port, as the same user, with the web server of busybox.
 */
export async function loadPagesBase(docker: EngineClient): Promise<void> {
  const files = { name: 'davit-e2e/pages', tag: '1', users: { nginx: 101 } };
  await load(docker, files, (archive) => {
    archive.entry({ name: 'usr/share/nginx/html', type: 'directory', mode: 0o755 });
  });
  const lines = [
    `FROM ${files.name}:${files.tag}`,
    'USER 101',
    'CMD ["httpd", "-f", "-p", "8080", "-h", "/usr/share/nginx/html"]',
    '',
  ];
  const archive = await tarOf((made) => void made.entry({ name: 'Dockerfile', mode: 0o644 }, lines.join('\n')));
  const query = { t: 'docker.io/nginxinc/nginx-unprivileged:stable-alpine' };
  await callEngine(docker, { method: 'POST', path: '/build', query, archive, signal: new AbortController().signal });
}

interface Image {
  readonly name: string;
  readonly tag: string;
  readonly users: Readonly<Record<string, number>>;
}

async function load(docker: EngineClient, { name, tag, users }: Image, fill: (archive: Archive) => void): Promise<void> {
  const archive = await tarOf((made) => {
    addBusybox(made, users);
    fill(made);
  });
  await importImage(docker, { name, tag, archive }, new AbortController().signal);
}

/** Adds programs of this machine, by their paths in the image, with their libraries. */
function addPrograms(archive: Archive, programs: Readonly<Record<string, string>>): void {
  for (const library of new Set(Object.values(programs).flatMap((file) => sharedLibraries(file))))
    archive.entry({ name: library.slice(1), mode: 0o755 }, readFileSync(realpathSync(library)));
  for (const [name, file] of Object.entries(programs)) archive.entry({ name, mode: 0o755 }, readFileSync(file));
}

function addFolder(archive: Archive, folder: string, name: string): void {
  for (const entry of readdirSync(folder)) {
    const [from, to] = [path.join(folder, entry), path.posix.join(name, entry)];
    const found = lstatSync(from);
    if (found.isDirectory()) addFolder(archive, from, to);
    else if (found.isSymbolicLink()) archive.entry({ name: to, type: 'symlink', linkname: readlinkSync(from) });
    else archive.entry({ name: to, mode: found.mode & 0o777 }, readFileSync(from));
  }
}
