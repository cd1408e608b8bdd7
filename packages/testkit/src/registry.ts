import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { findProgram } from '@davit/drivers';
import { busyboxArchive } from './engine-images.ts';
import { testRegistryPort } from './engines.ts';

/** A real registry (Distribution) on loopback, empty at first. */
export interface TestRegistry {
  /** `127.0.0.1:<port>`, as image names begin. */
  readonly address: string;
  /** Puts an image of busybox there that runs this command; gives its digest. */
  push(name: string, tag: string, command: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

export interface TestRegistryOptions {
  /** Asks for these; without, everybody may read and write. The hash is of htpasswd(1), by bcrypt. */
  readonly user?: { readonly name: string; readonly password: string; readonly hash: string };
}

/** Fails when `docker-registry` is not installed. One at a time: its port is the one that the engines know. */
export async function startTestRegistry({ user }: TestRegistryOptions = {}): Promise<TestRegistry> {
  const program = findProgram('docker-registry');
  if (program === null) throw new Error('docker-registry is not installed (Debian: apt-get install docker-registry)');
  const address = `127.0.0.1:${await testRegistryPort()}`;
  const folder = mkdtempSync(join(tmpdir(), 'davit-registry-'));
  writeFileSync(join(folder, 'htpasswd'), user === undefined ? '' : `${user.name}:${user.hash}\n`);
  const settings = {
    version: '0.1',
    log: { level: 'error' },
    storage: { filesystem: { rootdirectory: join(folder, 'data') } },
    http: { addr: address, secret: randomBytes(16).toString('hex') },
    ...(user && { auth: { htpasswd: { realm: 'tests', path: join(folder, 'htpasswd') } } }),
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'config.yml'), JSON.stringify(settings));
  const child = spawn(program, ['serve', join(folder, 'config.yml')], { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const headers: Record<string, string> =
    user === undefined ? {} : { authorization: `Basic ${Buffer.from(`${user.name}:${user.password}`).toString('base64')}` };
  const base = `http://${address}/v2/`;
  const deadline = Date.now() + 20_000;
  while ((await fetch(base, { headers }).catch(() => null))?.status !== 200) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${program} did not come up`);
    await pause(20);
  }
  return {
    address,
    push: async (name, tag, command) => pushImage({ base, headers }, { name, tag, command }),
    close: async () => {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Place {
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
}

const types = {
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
};

async function pushImage(
  place: Place,
  { name, tag, command }: { readonly name: string; readonly tag: string; readonly command: readonly string[] },
): Promise<string> {
  const files = await busyboxArchive();
  const config = JSON.stringify({
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    config: { Cmd: command, Env: ['PATH=/bin'] },
    rootfs: { type: 'layers', diff_ids: [digestOf(files)] },
  });
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: types.manifest,
    config: { mediaType: types.config, ...(await pushBlob(place, name, Buffer.from(config))) },
    layers: [{ mediaType: types.layer, ...(await pushBlob(place, name, gzipSync(files))) }],
  });
  const headers = { ...place.headers, 'content-type': types.manifest };
  const answer = await fetch(`${place.base}${name}/manifests/${tag}`, { method: 'PUT', headers, body: manifest });
  if (answer.status !== 201) throw new Error(`the registry did not take the manifest: ${await answer.text()}`);
  return digestOf(Buffer.from(manifest));
}

async function pushBlob(
  place: Place,
  name: string,
  content: Buffer,
): Promise<{ readonly size: number; readonly digest: string }> {
  const digest = digestOf(content);
  const begun = await fetch(`${place.base}${name}/blobs/uploads/`, { method: 'POST', headers: place.headers });
  const location = new URL(begun.headers.get('location') ?? '', place.base);
  location.searchParams.set('digest', digest);
  const headers = { ...place.headers, 'content-type': 'application/octet-stream' };
  const answer = await fetch(location, { method: 'PUT', headers, body: new Uint8Array(content) });
  if (answer.status !== 201) throw new Error(`the registry did not take a blob: ${await answer.text()}`);
  return { size: content.length, digest };
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
