import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pause } from '@davit/base';
import { findProgram } from '@davit/drivers';
import { busyboxArchive } from './engine-images.ts';
import { freePort } from './site.ts';

/** Whether this machine has the program of a real container registry. */
export const hasRegistry = findProgram('docker-registry') !== null;

/** A real container registry (Distribution) on loopback over HTTP, with one user and initially empty. */
export interface TestRegistry {
  /** Address `127.0.0.1:<port>`, the prefix of its image names. */
  readonly address: string;
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Stores a busybox image that runs this command. Returns its digest. */
  push(name: string, tag: string, command?: readonly string[], architecture?: string): Promise<string>;
  /** Stores an image with these files. Returns its digest. */
  pushImage(name: string, tag: string, image: TestImage): Promise<string>;
  /** Stores the archive of a Helm chart, like `helm push`. */
  pushChart(name: string, tag: string, archive: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** An image with one layer. */
export interface TestImage {
  /** Content of the layer as a tar. */
  readonly files: Buffer;
  readonly environment?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly folder?: string;
  /** Processor architecture. Default: this machine's. */
  readonly architecture?: string;
}

const username = 'davit';
const password = 'open-sesame';
// bcrypt hash of the password, as the registry requires.
const passwordHash = '$2y$05$davitregistrytestsalu.nFgylIRuLDQf2r/csgpf7mQLZ3LUliW';

/**
 * Starts a registry. Fails if `docker-registry` is not installed, or if something answers at the port. `port`: use
 * `testRegistryPort` for engines that are configured for its port only; default: a free port. `isOpen`: the registry
 * requires no password.
 */
export async function startTestRegistry(port?: number, { isOpen = false } = {}): Promise<TestRegistry> {
  const program = findProgram('docker-registry');
  if (program === null) throw new Error('docker-registry is not installed (Debian: apt-get install docker-registry)');
  const address = `127.0.0.1:${port ?? (await freePort())}`;
  // Otherwise the tests would use a registry that another test has left, and fail for its reasons.
  if ((await fetch(`http://${address}/v2/`).catch(() => null)) !== null) throw new Error(`a registry runs at ${address} already`);
  const folder = mkdtempSync(join(tmpdir(), 'davit-registry-'));
  writeFileSync(join(folder, 'htpasswd'), `${username}:${passwordHash}\n`);
  const settings = {
    version: '0.1',
    log: { level: 'error', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, 'data') } },
    http: { addr: address, secret: randomBytes(16).toString('hex') },
    ...(isOpen ? {} : { auth: { htpasswd: { realm: 'tests', path: join(folder, 'htpasswd') } } }),
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'config.yml'), JSON.stringify(settings));
  const child = spawn(program, ['serve', join(folder, 'config.yml')], { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const headers = { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
  const base = `http://${address}/v2/`;
  const deadline = Date.now() + 20_000;
  while ((await fetch(base, { headers }).catch(() => null))?.status !== 200) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${program} did not come up`);
    await pause(20);
  }
  return {
    address,
    url: `http://${address}`,
    username,
    password,
    push: async (name, tag, command = ['true'], architecture) => {
      const image = { files: await busyboxArchive(), environment: ['PATH=/bin'], command, ...(architecture && { architecture }) };
      return pushImage({ base, headers }, `${name}:${tag}`, image);
    },
    pushImage: (name, tag, image) => pushImage({ base, headers }, `${name}:${tag}`, image),
    pushChart: async (name, tag, archive) => {
      const location = { base, headers };
      const config = {
        mediaType: 'application/vnd.cncf.helm.config.v1+json',
        ...(await pushBlob(location, name, Buffer.from('{}'))),
      };
      const layer = { mediaType: chartLayer, ...(await pushBlob(location, name, archive)) };
      const mediaType = 'application/vnd.oci.image.manifest.v1+json';
      await putManifest(location, `${name}:${tag}`, { schemaVersion: 2, mediaType, config, layers: [layer] });
    },
    close: async () => {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface RegistryEndpoint {
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
}

const chartLayer = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip';
const types = {
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
};

async function pushImage(
  endpoint: RegistryEndpoint,
  reference: string,
  { files, environment = [], entrypoint, command, folder, architecture }: TestImage,
): Promise<string> {
  const [name = ''] = reference.split(':');
  const config = JSON.stringify({
    architecture: architecture ?? (process.arch === 'arm64' ? 'arm64' : 'amd64'),
    os: 'linux',
    config: { Cmd: command, Entrypoint: entrypoint, Env: environment, WorkingDir: folder },
    rootfs: { type: 'layers', diff_ids: [digestOf(files)] },
  });
  return putManifest(endpoint, reference, {
    schemaVersion: 2,
    mediaType: types.manifest,
    config: { mediaType: types.config, ...(await pushBlob(endpoint, name, Buffer.from(config))) },
    layers: [{ mediaType: types.layer, ...(await pushBlob(endpoint, name, gzipSync(files))) }],
  });
}

/** Stores a manifest and returns its digest. */
async function putManifest(
  endpoint: RegistryEndpoint,
  reference: string,
  content: { readonly schemaVersion: 2; readonly mediaType: string; readonly config: object; readonly layers: readonly object[] },
): Promise<string> {
  const [name = '', tag = ''] = reference.split(':');
  const manifest = JSON.stringify(content);
  const headers = { ...endpoint.headers, 'content-type': content.mediaType };
  const answer = await fetch(`${endpoint.base}${name}/manifests/${tag}`, { method: 'PUT', headers, body: manifest });
  if (answer.status !== 201) throw new Error(`the registry did not take the manifest: ${await answer.text()}`);
  return digestOf(Buffer.from(manifest));
}

async function pushBlob(
  endpoint: RegistryEndpoint,
  name: string,
  content: Buffer,
): Promise<{ readonly size: number; readonly digest: string }> {
  const digest = digestOf(content);
  const begun = await fetch(`${endpoint.base}${name}/blobs/uploads/`, { method: 'POST', headers: endpoint.headers });
  const location = new URL(begun.headers.get('location') ?? '', endpoint.base);
  location.searchParams.set('digest', digest);
  const headers = { ...endpoint.headers, 'content-type': 'application/octet-stream' };
  const answer = await fetch(location, { method: 'PUT', headers, body: new Uint8Array(content) });
  if (answer.status !== 201) throw new Error(`the registry did not take a blob: ${await answer.text()}`);
  return { size: content.length, digest };
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
