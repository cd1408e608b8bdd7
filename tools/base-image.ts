import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { callEngine, importImage, openDockerEngine, sharedLibraries, tarOf, type EngineConnection } from '@davit/drivers';
import type { Pack } from 'tar-stream';

/*
 * A base image that needs no registry. It contains the Node.js that runs this program and the libraries of Node.js, and
 * nothing else. It has no shell, so commands are in exec form, for example `CMD ["node", "server.js"]`.
 */

const baseImage = 'davit-base/node:24';

/**
 * Builds the image on the engine that Davit uses, unless the engine already has the image for this version of Node.js.
 * Returns whether it was built.
 */
export async function ensureBaseImage(stateFolder: string): Promise<boolean> {
  const { docker } = await openDockerEngine({ stateFolder });
  const [repository = ''] = baseImage.split(':');
  const exact = `${repository}:${process.versions.node}`;
  const isThere = (await idOf(docker, exact)) !== undefined;
  if (!isThere) {
    await importImage(docker, { name: repository, tag: process.versions.node, archive: await tarOf(addFiles) }, signal);
  }
  if ((await idOf(docker, baseImage)) !== (await idOf(docker, exact))) {
    await tag(docker, exact, { repo: repository, tag: '24' });
  }
  return !isThere;
}

function addFiles(archive: Pack): void {
  archive.entry({ name: 'usr/local/bin/node', mode: 0o755 }, readFileSync(process.execPath));
  for (const file of sharedLibraries(process.execPath)) {
    archive.entry({ name: file.slice(1), mode: 0o755 }, readFileSync(realpathSync(file)));
  }
  // Node.js works without these certificates, as it has its own list; other programs that are copied into the image
  // need them.
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  if (existsSync(certificates)) archive.entry({ name: certificates.slice(1), mode: 0o644 }, readFileSync(certificates));
  archive.entry({ name: 'etc/passwd', mode: 0o644 }, 'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000:node:/tmp:/bin/sh\n');
  archive.entry({ name: 'etc/group', mode: 0o644 }, 'root:x:0:\nnode:x:1000:\n');
  archive.entry({ name: 'tmp', type: 'directory', mode: 0o1777 });
}

const signal = new AbortController().signal;

async function idOf(docker: EngineConnection, reference: string): Promise<string | undefined> {
  const request = { method: 'GET', path: `/images/${reference}/json`, signal, accept: [404] } as const;
  const { status, body } = await callEngine<{ readonly Id: string }>(docker, request);
  return status === 404 ? undefined : body.Id;
}

async function tag(
  docker: EngineConnection,
  image: string,
  query: { readonly repo: string; readonly tag: string },
): Promise<void> {
  await callEngine(docker, { method: 'POST', path: `/images/${image}/tag`, query, signal });
}
