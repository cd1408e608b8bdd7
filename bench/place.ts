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
  /** Short rounds for a quick look; the results decide nothing. */
  readonly isQuick: boolean;
}

/** The workspace of a run: its own folder, and the servers that several rows share. Each server starts on first use. */
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
    // PostgreSQL runs as the user nobody if the benchmarks run as root, and needs search permission on this folder.
    chmodSync(this.folder, 0o711);
    writeFileSync(path.join(this.folder, runnerFile), String(process.pid));
    process.env['DAVIT_TEST_ENGINES_FOLDER'] = path.join(this.folder, 'engines');
  }

  /** Number of rounds per side. */
  rounds(full: number, quick: number): number {
    return this.isQuick ? quick : full;
  }

  /** Registers a function that is called at the end of the run, in reverse order of registration. */
  onEnd(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  newFolder(name: string): string {
    const folder = path.join(this.folder, name);
    mkdirSync(folder, { recursive: true, mode: 0o711 });
    return folder;
  }

  /**
   * Returns the URL of a new database. Its PostgreSQL is configured like Davit's embedded PostgreSQL (fsync is on, so
   * no data is lost), but accepts the connections of all servers of a run. Both sides use the same PostgreSQL.
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

  /** Returns the run's own container engine, with the images `bench/busybox:1` and `bench/node:1`. */
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

  /** Returns a git host that serves repositories of this machine over HTTP. Its cost is the same for both sides. */
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
      head: (name) => new TestRepository(path.join(folder, name)).git('rev-parse', 'main'),
    };
  }

  /** Stops everything that the run started and removes all its files. */
  async end(): Promise<void> {
    for (const close of this.#closers.toReversed()) await close();
    await clear(this.folder);
  }
}

export interface GitHost {
  /** Creates a repository with one commit of these files on `main`; returns its URL. */
  commit(name: string, files: Readonly<Record<string, string>>): string;
  /** Returns the id of the newest commit of `main`. */
  head(name: string): string;
}

/** Removes the processes and files of earlier runs that were killed. */
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
  // Davit servers are stopped first, as they would restart the programs that exit beside them. PostgreSQL exits at once
  // on SIGINT.
  const stages = [/cli\.ts serve/, /postgres -D/, /haproxy/];
  for (const stage of stages) {
    const found = processesOf(folder).filter((process) => stage.test(process.commandLine));
    await Promise.all(found.map(({ pid }) => end(pid, 'SIGINT')));
  }
  await stopTestEngines();
  await Promise.all(processesOf(folder).map(({ pid }) => end(pid, 'SIGTERM')));
  rmSync(folder, { recursive: true, force: true });
}

/** Returns a port on which no program currently listens. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
