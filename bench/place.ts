import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEmbedded, type EmbeddedDatabase } from '@davit/db';
import { openDockerEngine, type DockerEngine } from '@davit/drivers';
import { Client, escapeIdentifier } from 'pg';
import { loadBusyboxImage, loadNodeImage } from '@davit/testkit/engine-images';
import { startTestEngine, stopTestEngines, type EngineKind } from '@davit/testkit/engines';
import { startGitServer, TestRepository } from '../packages/drivers/src/source/testing.ts';
import { end, processesOf } from './processes.ts';

const prefix = 'davit-bench-';
const runnerFile = 'runner.pid';

export interface PlaceOptions {
  readonly engine: EngineKind;
  /** Short rounds: a look, not a verdict. */
  readonly isQuick: boolean;
}

/** Where a run works: a folder of its own, and what several rows share, started when the first of them asks for it. */
export class Place {
  readonly folder: string;
  readonly isQuick: boolean;
  readonly engineKind: EngineKind;
  readonly #closers: (() => Promise<void> | void)[] = [];
  #server: Promise<EmbeddedDatabase> | undefined;
  #engine: Promise<DockerEngine> | undefined;
  #git: Promise<GitHost> | undefined;

  constructor(options: PlaceOptions) {
    this.isQuick = options.isQuick;
    this.engineKind = options.engine;
    this.folder = mkdtempSync(path.join(tmpdir(), prefix));
    // PostgreSQL runs as nobody when the benchmarks run as root, and must be able to walk here.
    chmodSync(this.folder, 0o711);
    writeFileSync(path.join(this.folder, runnerFile), String(process.pid));
    process.env['DAVIT_TEST_ENGINES_FOLDER'] = path.join(this.folder, 'engines');
  }

  /** Rounds of each side. */
  rounds(full: number, quick: number): number {
    return this.isQuick ? quick : full;
  }

  /** Called at the end of the run, last one first. */
  onEnd(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  newFolder(name: string): string {
    const folder = path.join(this.folder, name);
    mkdirSync(folder, { recursive: true, mode: 0o711 });
    return folder;
  }

  /**
   * Address of a new database in a PostgreSQL as Davit starts its own (it loses nothing: fsync is on), but with room for all of
   * the servers of a run. Both sides use the same one.
   */
  async database(name: string): Promise<string> {
    this.#server ??= startEmbedded({ stateFolder: this.newFolder('database'), settings: { max_connections: '300' } });
    const { connectionString } = await this.#server;
    const sql = new Client({ connectionString });
    await sql.connect();
    await sql.query(`create database ${escapeIdentifier(name)}`);
    await sql.end();
    const address = new URL(connectionString);
    address.pathname = `/${name}`;
    return address.href;
  }

  /** A container engine of its own, with the images `bench/busybox:1` and `bench/node:1`. */
  engine(): Promise<DockerEngine> {
    this.#engine ??= this.#startEngine();
    return this.#engine;
  }

  async #startEngine(): Promise<DockerEngine> {
    const { socketPath } = await startTestEngine(this.engineKind);
    const engine = await openDockerEngine({ socket: `unix://${socketPath}`, stateFolder: this.newFolder('engine') });
    await loadBusyboxImage(engine.docker, 'bench/busybox:1');
    await loadNodeImage(engine.docker, 'bench/node:1');
    return engine;
  }

  /** Repositories over http from this machine: both sides pay the same for them. */
  git(): Promise<GitHost> {
    this.#git ??= this.#startGit();
    return this.#git;
  }

  async #startGit(): Promise<GitHost> {
    const folder = this.newFolder('repositories');
    const server = await startGitServer(folder);
    this.onEnd(() => server.close());
    return {
      commit: (name, files) => {
        new TestRepository(path.join(folder, name)).commit('application', files);
        return `${server.url}/${name}`;
      },
    };
  }

  /** Ends all that was started and removes all files. */
  async end(): Promise<void> {
    for (const close of this.#closers.toReversed()) await close();
    await clear(this.folder);
  }
}

export interface GitHost {
  /** Makes a repository with one commit of these files on `main`; gives its URL. */
  commit(name: string, files: Readonly<Record<string, string>>): string;
}

/** Removes what runs left behind that were killed. */
export async function removeLeftovers(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    const folder = path.join(tmpdir(), name);
    const file = path.join(folder, runnerFile);
    const runner = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
    if (runner > 0 && !existsSync(`/proc/${runner}`)) await clear(folder);
  }
}

async function clear(folder: string): Promise<void> {
  process.env['DAVIT_TEST_ENGINES_FOLDER'] = path.join(folder, 'engines');
  // Servers of Davit first, as they would start again what ends beside them; PostgreSQL ends at once with SIGINT.
  const stages = [/cli\.ts serve/, /postgres -D/, /haproxy/];
  for (const stage of stages) {
    const found = processesOf(folder).filter((process) => stage.test(process.commandLine));
    await Promise.all(found.map(({ pid }) => end(pid, 'SIGINT')));
  }
  await stopTestEngines();
  await Promise.all(processesOf(folder).map(({ pid }) => end(pid, 'SIGTERM')));
  rmSync(folder, { recursive: true, force: true });
}

/** A port that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
