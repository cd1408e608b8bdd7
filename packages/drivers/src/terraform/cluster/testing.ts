import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import type { ClusterDriver, OnLine } from '../../driver.ts';
import { createFakeCluster } from '../../fake/fake-cluster.ts';
import { DriverError } from '../../errors.ts';
import type { StateStore } from '../../terraform-driver.ts';
import { answerState } from '../../terraform-state.ts';
import type { Instance, LogLine, Workload } from '../../workload.ts';
import { runFolder } from './supervisor.ts';

interface Pod {
  readonly workload: Workload;
  readonly child: ChildProcess;
  readonly lines: LogLine[];
  end: { readonly code: number } | null;
  readonly watchers: Set<() => void>;
}

/**
 * A cluster whose pods are processes of this machine, with a folder each. Implements only what runs of Terraform need.
 */
export class ProcessCluster {
  readonly #folder: string;
  readonly #pods = new Map<string, Pod>();
  readonly cluster: ClusterDriver;
  started = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.cluster = {
      ...createFakeCluster().cluster,
      start: (workload) => this.#start(workload),
      observe: ({ rollout }) =>
        Promise.resolve([...this.#pods].filter(([id]) => rollout === undefined || id === rollout).map(toInstance)),
      retire: ({ rollout }) => this.#retire(rollout),
      followLogs: (id, position, onLine, signal) => this.#follow(id, position?.at ?? null, onLine, signal),
      readFile: (id, { path }) => readFile(this.#here(id, path), 'utf8').catch(() => null),
      upload: async (id, { folder: into, archive }) => {
        if (this.#pods.get(id)?.end !== null) {
          archive.destroy();
          throw new DriverError({ cause: 'ENGINE_FAILED', message: 'it is no longer on the cluster' });
        }
        for await (const entry of archive.pipe(extract())) {
          const { name, type } = entry.header;
          const content = await text(entry);
          const file = join(this.#here(id, into), name);
          await mkdir(type === 'directory' ? file : dirname(file), { recursive: true });
          // The scripts of commands contain the folder as it is in a pod.
          if (type === 'file') await writeFile(file, name.endsWith('/run') ? this.#here(id, content) : content);
        }
      },
    };
  }

  /** Ends a pod as the loss of its node does, or with a grace period as an eviction does. */
  kill(id: string, signal: 'SIGKILL' | 'SIGTERM'): void {
    const { child } = this.#pods.get(id) ?? {};
    if (child?.pid !== undefined) process.kill(signal === 'SIGKILL' ? -child.pid : child.pid, signal);
  }

  log(id: string): string {
    return (this.#pods.get(id)?.lines ?? []).map((line) => line.text).join('\n');
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pods.keys()].map((id) => this.#retire(id)));
  }

  #here(id: string, path: string): string {
    return path.replaceAll(runFolder, join(this.#folder, id));
  }

  async #start(workload: Workload): Promise<void> {
    const id = workload.rollout;
    if (this.#pods.has(id)) return;
    this.started += 1;
    await mkdir(join(this.#folder, id), { recursive: true });
    const [program = '', ...args] = workload.entrypoint.map((part) => this.#here(id, part));
    const own = workload.environment.map(({ name, value }) => [name, this.#here(id, value.reveal())]);
    const child = spawn(program, args, {
      env: { PATH: process.env['PATH'] ?? '', ...Object.fromEntries(own) },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const pod: Pod = { workload, child, lines: [], end: null, watchers: new Set() };
    this.#pods.set(id, pod);
    const wake = (): void => pod.watchers.forEach((one) => one());
    for (const stream of [child.stdout, child.stderr]) {
      let rest = '';
      stream.on('data', (chunk: Buffer) => {
        const parts = (rest + chunk.toString()).split('\n');
        rest = parts.pop() ?? '';
        for (const part of parts)
          pod.lines.push({ timestamp: String(pod.lines.length).padStart(9, '0'), stream: 'stdout', text: part });
        wake();
      });
    }
    child.once('close', (code) => {
      pod.end = { code: code ?? 137 };
      wake();
    });
  }

  async #retire(id: string | undefined): Promise<void> {
    const pod = this.#pods.get(id ?? '');
    if (id === undefined || pod === undefined) return;
    if (pod.end === null) {
      const gone = new Promise((done) => pod.child.once('close', done));
      this.kill(id, 'SIGKILL');
      await gone;
    }
    this.#pods.delete(id);
    await rm(join(this.#folder, id), { recursive: true, force: true });
  }

  async #follow(id: string, since: string | null, onLine: OnLine, signal: AbortSignal): Promise<void> {
    const pod = this.#pods.get(id);
    let next = since === null ? 0 : Number(since) + 1;
    if (pod === undefined) return;
    while (!signal.aborted) {
      for (; next < pod.lines.length; next += 1) {
        const line = pod.lines[next];
        if (line !== undefined) await onLine(line);
      }
      if (pod.end !== null || signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      pod.watchers.add(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
      await promise;
      pod.watchers.delete(resolve);
    }
  }
}

function toInstance([id, { workload, end }]: [string, Pod]): Instance {
  return {
    id,
    name: workload.name,
    environment: workload.owner.environment,
    service: workload.owner.service,
    release: workload.release,
    rollout: workload.rollout,
    index: 0,
    state: end === null ? 'RUNNING' : 'EXITED',
    startedAt: null,
    exit: end === null ? null : { code: end.code, outOfMemory: false, at: '' },
    endpoints: [],
  };
}

/** Serves a state as the API does, without authentication. */
export async function serveStateAt(store: StateStore): Promise<{ readonly address: string; readonly server: Server }> {
  const server = createServer((request, response) => {
    void text(request)
      .then((body) => answerState(store, { method: request.method ?? '', body }))
      .then(
        ({ status, body }) => response.writeHead(status).end(body ?? undefined),
        () => response.writeHead(401).end(),
      );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  return { server, address: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}` };
}
