import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { findProgram } from '@davit/drivers';

/** Whether this machine has the program of a real container registry. */
export const hasRegistry = findProgram('docker-registry') !== null;

/** A real container registry on loopback, over http, with one user. */
export interface TestRegistry {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Stores an image without layers under these tags. */
  push(name: string, tags: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

const username = 'davit';
const password = 'open-sesame';
// bcrypt of the password, as the registry wants it.
const passwordHash = '$2y$05$davitregistrytestsalu.nFgylIRuLDQf2r/csgpf7mQLZ3LUliW';

export async function startTestRegistry(): Promise<TestRegistry> {
  const program = findProgram('docker-registry');
  if (program === null) throw new Error('docker-registry is not installed');
  const folder = await mkdtemp(path.join(tmpdir(), 'davit-registry-'));
  const place = await startTestSite((_request, response) => response.end());
  await place.close();
  const configuration = {
    version: '0.1',
    log: { level: 'error', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: path.join(folder, 'data') } },
    http: { addr: `127.0.0.1:${place.port}` },
    auth: { htpasswd: { realm: 'test', path: path.join(folder, 'users') } },
  };
  await writeFile(path.join(folder, 'users'), `${username}:${passwordHash}\n`);
  // JSON is YAML.
  await writeFile(path.join(folder, 'config.yml'), JSON.stringify(configuration));
  const child = spawn(program, ['serve', path.join(folder, 'config.yml')], { stdio: 'ignore' });
  const { url } = place;
  const stop = async (): Promise<void> => {
    const ended = once(child, 'exit');
    if (child.kill()) await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await answers(`${url}/v2/`, () => child.exitCode !== null);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url,
    username,
    password,
    push: (name, tags) => push(url, name, tags),
    stop,
  };
}

async function answers(url: string, hasEnded: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (hasEnded()) break;
    const answer = await fetch(url).catch(() => null);
    if (answer !== null) return;
    await pause(50);
  }
  throw new Error(`the registry does not answer at ${url}`);
}

const manifestType = 'application/vnd.docker.distribution.manifest.v2+json';

async function push(url: string, name: string, tags: readonly string[]): Promise<void> {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const config = '{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}';
  const digest = `sha256:${createHash('sha256').update(config).digest('hex')}`;
  const send = async (place: string, method: string, type: string, body: string): Promise<Response> => {
    const answer = await fetch(new URL(place, url), { method, headers: { authorization, 'content-type': type }, body });
    if (!answer.ok) throw new Error(`${method} ${place} answered ${answer.status}: ${await answer.text()}`);
    return answer;
  };
  const upload = await send(`/v2/${name}/blobs/uploads/`, 'POST', 'application/octet-stream', '');
  const place = new URL(upload.headers.get('location') ?? '', url);
  place.searchParams.set('digest', digest);
  await send(place.href, 'PUT', 'application/octet-stream', config);
  const manifest = {
    schemaVersion: 2,
    mediaType: manifestType,
    config: { mediaType: 'application/vnd.docker.container.image.v1+json', size: config.length, digest },
    layers: [],
  };
  for (const tag of tags) await send(`/v2/${name}/manifests/${tag}`, 'PUT', manifestType, JSON.stringify(manifest));
}

/** A web server on loopback that answers what a test wants. */
export async function startTestSite(listener: RequestListener): Promise<{ url: string; port: number; close(): Promise<void> }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
