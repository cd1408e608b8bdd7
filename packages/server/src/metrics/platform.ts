import { statfs } from 'node:fs/promises';
import type { Database } from '@davit/db';
import type { EnginePort } from '@davit/engine/port';
import type { PlatformCounts } from './counts.ts';
import { installationFamilies, readInstallation } from './installation.ts';
import { gauge, render, type Family } from './series.ts';
import { Source } from './source.ts';

export interface PlatformParts {
  readonly database: Database;
  readonly engine: Pick<EnginePort, 'clusterHealth' | 'engineDisk'>;
  readonly streams: { readonly count: number; readonly lagSeconds: number };
  readonly counts: PlatformCounts;
  readonly stateFolder: string;
  readonly backupFolder: string;
  readonly version: string;
  readonly role: string;
  readonly log: { warn(details: object, message: string): void };
}

const databaseKeepMilliseconds = 3_000;
const diskKeepMilliseconds = 30_000;
// A busy engine takes seconds to respond, and its disk fills slowly.
const diskStandsMilliseconds = 300_000;
const engineTimeoutMilliseconds = 30_000;

interface Disk {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/**
 * Metrics about the platform itself, for operators. The counters and values in memory are always included. Values from
 * the database, the disks and the engine are missing while these do not respond; `davit_source_up` shows that.
 */
export class PlatformMetrics {
  readonly #parts: PlatformParts;
  readonly #installation;
  readonly #disks: Readonly<Record<string, Source<Disk | null>>>;

  constructor(parts: PlatformParts) {
    this.#parts = parts;
    const { database, engine, log } = parts;
    const failed = (source: string) => (err: unknown) => log.warn({ err, source }, 'a part of the metrics could not be read');
    this.#installation = new Source({
      read: () => database.one(readInstallation),
      keepMilliseconds: databaseKeepMilliseconds,
      onFailure: failed('database'),
    });
    const disk = (source: string, read: () => Promise<Disk | null>): Source<Disk | null> =>
      new Source({
        read,
        keepMilliseconds: diskKeepMilliseconds,
        standsMilliseconds: diskStandsMilliseconds,
        onFailure: failed(source),
      });
    this.#disks = {
      state: disk('state', () => diskOf(parts.stateFolder)),
      backups: disk('backups', () => diskOf(parts.backupFolder)),
      engine: disk('engine', () => engine.engineDisk(AbortSignal.timeout(engineTimeoutMilliseconds))),
    };
  }

  /** Returns the metrics in the text format of Prometheus. Takes a second at most, and does not fail. */
  async render(): Promise<string> {
    const names = Object.keys(this.#disks);
    const [installation, ...disks] = await Promise.all([
      this.#installation.get(),
      ...Object.values(this.#disks).map((disk) => disk.get()),
    ]);
    const sources = [
      ['database', installation !== null],
      ...names.map((name, index) => [`${name}_disk`, disks[index] !== null] as const),
    ] as const;
    return render([
      ...this.#own(),
      gauge(
        'davit_source_up',
        'Whether this scrape includes the data of the source, which must answer within a second.',
        sources.map(([source, isUp]) => [{ source }, Number(isUp)]),
      ),
      ...diskFamilies(names.map((name, index) => [name, disks[index]?.value ?? null])),
      ...(installation === null ? [] : installationFamilies(installation.value)),
    ]);
  }

  #own(): Family[] {
    const { counts, version, role, streams, engine, database } = this.#parts;
    const clusters = engine.clusterHealth();
    return [
      gauge('davit_build_info', 'Version and role of this process; always 1.', [[{ version, role }, 1]]),
      ...counts.families(),
      gauge(
        'davit_cluster_up',
        'Whether the latest check of the cluster by this process succeeded.',
        clusters.map(({ cluster, isReachable }) => [{ cluster }, isReachable === null ? null : Number(isReachable)]),
      ),
      gauge(
        'davit_keeper_lag_seconds',
        'Time since the keeper of this process last knew what runs on the cluster.',
        clusters.map(({ cluster, keeperLagSeconds }) => [{ cluster }, keeperLagSeconds]),
      ),
      gauge(
        'davit_gateway_up',
        'Whether the process of the gateway ran a second ago.',
        clusters.map(({ cluster, isGatewayUp }) => [{ cluster }, isGatewayUp === null ? null : Number(isGatewayUp)]),
      ),
      gauge('davit_streams_open', 'Live streams that clients have open at this process.', streams.count),
      gauge(
        'davit_stream_lag_seconds',
        'Time since this process last read new events for its streams; 0: none is open.',
        streams.lagSeconds,
      ),
      ...poolFamilies(database.pool),
    ];
  }
}

function poolFamilies(pool: Database['pool']): Family[] {
  const counter = (name: string, help: string, value: number): Family => ({ name, type: 'counter', help, samples: [{ value }] });
  return [
    gauge('davit_database_pool_connections', 'Connections of this process to the database.', [
      [{ state: 'busy' }, pool.busy],
      [{ state: 'idle' }, pool.idle],
    ]),
    gauge('davit_database_pool_limit', 'Most connections of the pool (DAVIT_DATABASE_CONNECTIONS).', pool.maximum),
    gauge('davit_database_pool_waiting', 'Statements and transactions that wait for a connection.', pool.waiting),
    counter('davit_database_pool_waits_total', 'Statements and transactions that had to wait for a connection.', pool.waits),
    counter(
      'davit_database_pool_wait_seconds_total',
      'Total time that statements and transactions waited for a connection.',
      pool.waitedSeconds,
    ),
    counter(
      'davit_database_pool_timeouts_total',
      'Statements and transactions that gave up waiting, after ten seconds.',
      pool.timeouts,
    ),
  ];
}

function diskFamilies(disks: readonly (readonly [name: string, disk: Disk | null])[]): Family[] {
  const each = (value: (disk: Disk) => number): [{ disk: string }, number][] =>
    disks.flatMap(([name, disk]) => (disk === null ? [] : [[{ disk: name }, value(disk)]]));
  return [
    gauge(
      'davit_disk_free_bytes',
      'Free space of the disk: of the state folder, the backups, the container engine.',
      each(({ freeBytes }) => freeBytes),
    ),
    gauge(
      'davit_disk_size_bytes',
      'Size of that disk.',
      each(({ totalBytes }) => totalBytes),
    ),
  ];
}

/** Returns the size of a folder's disk; null if the folder does not exist yet. */
async function diskOf(folder: string): Promise<Disk | null> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
