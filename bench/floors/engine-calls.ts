import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm } from 'node:fs/promises';
import { Agent, request, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pack } from 'tar-stream';
import type { Deployment, EngineCallsAnswer, EngineCallsRequest } from './engine-calls-protocol.ts';

/*
 * The floor of deployments: the cost of git and of the engine's API alone. The program clones, builds (from the
 * engine's cache), creates, starts, and polls until the first 200. It does not record, check permissions, switch
 * traffic or remove old instances. It uses plain HTTP over keep-alive connections to the engine's socket, and makes the
 * archive in memory.
 *
 * Usage: node bench/floors/engine-calls.ts <engine's socket> <folder for checkouts>
 */

const [socketPath = '', folder = ''] = process.argv.slice(2);
const engine = new Agent({ keepAlive: true });
const gitEnvironment = { PATH: process.env['PATH'], HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' };

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: object | Buffer;
}

async function call({ method, path: target, body }: Call): Promise<string> {
  const content = body === undefined ? undefined : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const headers = content && {
    'content-type': Buffer.isBuffer(body) ? 'application/x-tar' : 'application/json',
    'content-length': content.length,
  };
  const sent = request({ socketPath, agent: engine, method, path: `/v1.41${target}`, ...(headers && { headers }) });
  sent.end(content);
  const [response] = (await once(sent, 'response')) as [IncomingMessage]; // oxlint-disable-line typescript/no-unsafe-type-assertion -- what Node.js documents
  const text = await textOf(response);
  if ((response.statusCode ?? 500) >= 400) throw new Error(`${method} ${target}: ${response.statusCode} ${text}`);
  return text;
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
  return text;
}

async function git(...args: string[]): Promise<void> {
  const child = spawn('git', args, { env: gitEnvironment, stdio: 'ignore' });
  const [code]: unknown[] = await once(child, 'exit');
  if (code !== 0) throw new Error(`git ${args[0]} ended with ${String(code)}`);
}

async function archiveOf(directory: string): Promise<Buffer> {
  const archive = pack();
  for (const name of (await readdir(directory)).sort()) {
    if (name !== '.git') archive.entry({ name, mtime: new Date(0) }, await readFile(path.join(directory, name)));
  }
  archive.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of archive) if (chunk instanceof Uint8Array) chunks.push(chunk);
  return Buffer.concat(chunks);
}

interface Built {
  readonly image: string;
  /** When the repository was cloned, as `performance.now()`. */
  readonly cloned: number;
}

/** Clones the repository and builds it; returns the image's name. */
async function buildImage({ url, name, builder }: Deployment): Promise<Built> {
  const directory = path.join(folder, name);
  await git('clone', '--quiet', '--depth=1', '--single-branch', '--no-tags', '--branch=main', url, directory);
  const cloned = performance.now();
  const output = await call({
    method: 'POST',
    path: `/build?t=bench/${name}:1&version=${builder === 'buildkit' ? '2' : '1'}`,
    body: await archiveOf(directory),
  });
  if (/"error"/.test(output)) throw new Error(`the build failed: ${output}`);
  void rm(directory, { recursive: true, force: true });
  return { image: `bench/${name}:1`, cloned };
}

/** Returns the milliseconds from the beginning to the first 200 from the new instance itself. */
async function deploy(deployment: Deployment): Promise<EngineCallsAnswer> {
  const began = performance.now();
  const known = { image: `bench/${deployment.name}:1`, cloned: began };
  const { image, cloned } = deployment.builder === 'none' ? known : await buildImage(deployment);
  const built = performance.now();
  const { Id: container }: { Id: string } = JSON.parse(
    await call({
      method: 'POST',
      path: '/containers/create',
      body: {
        Image: image,
        Env: [`GENERATION=${deployment.generation}`],
        HostConfig: {
          NetworkMode: deployment.network,
          Memory: deployment.memoryMiB * 1_048_576,
          NanoCpus: deployment.cpuMillicores * 1_000_000,
        },
        NetworkingConfig: { EndpointsConfig: { [deployment.network]: { Aliases: [deployment.name] } } },
      },
    }),
  );
  const created = performance.now();
  await call({ method: 'POST', path: `/containers/${container}/start` });
  const started = performance.now();
  const inspected: { NetworkSettings: { Networks: Record<string, { IPAddress: string }> } } = JSON.parse(
    await call({ method: 'GET', path: `/containers/${container}/json` }),
  );
  const host = inspected.NetworkSettings.Networks[deployment.network]?.IPAddress ?? '';
  while ((await ask(host, deployment.port)) !== deployment.generation) await pause(1);
  const answered = performance.now();
  return {
    milliseconds: answered - began,
    phases: {
      clone: cloned - began,
      build: built - cloned,
      create: created - built,
      start: started - created,
      answer: answered - started,
    },
    container,
  };
}

/** Returns the text of a 200 response, or '' for anything else. */
async function ask(host: string, port: number): Promise<string> {
  try {
    const sent = request({ host, port, path: '/', agent: false });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage]; // oxlint-disable-line typescript/no-unsafe-type-assertion -- what Node.js documents
    const text = await textOf(response);
    return response.statusCode === 200 ? text.trim() : '';
  } catch {
    return ''; // The instance does not listen yet.
  }
}

async function answer(message: EngineCallsRequest): Promise<unknown> {
  if (message.what === 'network') {
    return call({
      method: 'POST',
      path: '/networks/create',
      body: { Name: message.name, Driver: 'bridge', CheckDuplicate: true },
    });
  }
  if (message.what === 'remove') {
    return Promise.all(message.containers.map((id) => call({ method: 'DELETE', path: `/containers/${id}?force=true` })));
  }
  const began = performance.now();
  const deployments = await Promise.all(message.deployments.map(deploy));
  return { milliseconds: performance.now() - began, deployments };
}

process.on('message', (message: EngineCallsRequest) => {
  answer(message).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.once('disconnect', () => process.exit(0));
process.send?.('ready');
