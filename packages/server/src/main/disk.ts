import { migrate, openDatabase, statement, type Database } from '@davit/db';
import { collectAll, readDisk, type DiskReport, type ImageParts, type ImageUse } from '@davit/engine';
import { engineSettings } from './api.ts';
import type { Print } from './commands.ts';
import type { Configuration } from '../configuration.ts';
import { localDrivers } from './drivers.ts';
import { localDriver } from '../local-driver.ts';
import { openState } from './state.ts';

const withinMilliseconds = 10 * 60_000;

const diskRead = statement<{ installation: string; database: number; logs: number }>(
  'disk_read',
  `select id as installation, pg_database_size(current_database())::float8 as database,
          (pg_total_relation_size('service_log') + pg_total_relation_size('log_segment') + pg_total_relation_size('deployment_log'))::float8 as logs
     from installation`,
);

const kinds: readonly (readonly [ImageUse, string])[] = [
  ['RUNS', 'what runs'],
  ['ROLLBACK', 'kept for rollbacks'],
  ['CACHE', 'kept to speed up builds'],
  ['UNUSED', 'no longer needed'],
  ['FOREIGN', 'not Davit’s'],
];

/** Reports Davit's disk usage. `collects`: removes unneeded images first. */
export async function disk(config: Configuration, { collects }: { readonly collects: boolean }, print: Print): Promise<number> {
  const state = await openState(config, (message) => process.stderr.write(`davit: ${message}\n`));
  const { connectionString } = state;
  try {
    await migrate({ connectionString });
    const database = openDatabase({ connectionString, applicationName: 'davit disk', maximumConnections: 2 });
    try {
      return await look(config, database, { collects, print });
    } finally {
      await database.close();
    }
  } finally {
    await state.close();
  }
}

async function look(
  config: Configuration,
  database: Database,
  { collects, print }: { readonly collects: boolean; readonly print: Print },
): Promise<number> {
  const { installation, database: bytes, logs } = await database.one(diskRead);
  const report = (_details: object, message: string): void => void process.stderr.write(`davit: ${message}\n`);
  const log = { info: (): void => undefined, warn: report, error: report };
  const drivers = localDrivers(config, installation, log);
  const parts: ImageParts = {
    database,
    drivers: { [localDriver]: drivers.set },
    settings: engineSettings(config, installation),
    log,
  };
  const signal = AbortSignal.timeout(withinMilliseconds);
  try {
    if (collects) {
      const gone = await collectAll(parts, localDriver, { signal, log: () => undefined });
      for (const { names, id, sizeBytes } of gone) print(`removed ${names[0] ?? id}, ${gibibytes(sizeBytes)}`);
      if (gone.length === 0) print('there was nothing to remove');
    }
    const report = await readDisk(parts, localDriver, signal);
    if (report !== null) printImages(report, config, print);
    const cache = (await drivers.set.imageStore?.cacheBytes(signal)) ?? null;
    if (cache !== null) print(`build cache: ${limited(cache, config.buildCacheMiB, 'DAVIT_BUILD_CACHE_MIB')}`);
    const sources = await drivers.set.source.kept?.bytes();
    if (sources !== undefined)
      print(`objects of git repositories: ${limited(sources, config.keptSourcesMiB, 'DAVIT_KEPT_SOURCES_MIB')}`);
    print(`database: ${gibibytes(bytes)}, ${gibibytes(logs)} of it logs`);
    return 0;
  } finally {
    drivers.detach();
  }
}

function printImages({ space, images }: DiskReport, config: Configuration, print: Print): void {
  if (space !== null) {
    const limit = config.minFreeDiskMiB * 1024 * 1024;
    const free = `${gibibytes(space.freeBytes)} of ${gibibytes(space.totalBytes)} are free`;
    print(`${space.folder}: ${free}; below ${gibibytes(limit)} nothing is built or pulled`);
  }
  for (const [kind, words] of kinds) {
    const these = images.filter(({ use }) => use === kind);
    const bytes = these.reduce((sum, { image }) => sum + image.sizeBytes, 0);
    print(`images, ${words}: ${these.length}, ${gibibytes(bytes)}`);
    if (kind !== 'UNUSED') continue;
    for (const { image } of these) print(`  ${image.names[0] ?? image.id}, ${gibibytes(image.sizeBytes)}`);
  }
  print('(layers that images share are counted with each of them)');
}

/** Returns a size with the setting that limits it. */
function limited(bytes: number, limitMiB: number, setting: string): string {
  const limit = limitMiB === 0 ? 'no limit' : `at most ${gibibytes(limitMiB * 1024 ** 2)}`;
  return `${gibibytes(bytes)}, ${limit} (${setting})`;
}

function gibibytes(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}
