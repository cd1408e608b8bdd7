import { readdirSync, readFileSync } from 'node:fs';
import { Sensitive } from '@davit/base';
import type { WorkloadFile } from '@davit/drivers';
import type { BackupSubject } from '../model.ts';

export type BackupScript = 'dump' | 'prove' | 'restore' | 'release';

/** Folder of an instance that contains a backup under the name `backup`. */
export const outFolder = '/davit/out';
export const backupFolder = `${outFolder}/backup`;
/** File whose appearance a script awaits before it reads the backup. */
export const givenFile = 'given';
/** File in which a dump describes the server: each line has a word and a value. */
export const factsFile = `${backupFolder}/facts`;

const scriptFolder = '/davit';

function filesOf(folder: string): readonly [string, string][] {
  const url = new URL(`tools/${folder}/`, import.meta.url);
  const names = readdirSync(url, { withFileTypes: true }).filter((entry) => entry.isFile());
  return names.map(({ name }) => [name, readFileSync(new URL(name, url), 'utf8')]);
}

const common = filesOf('.');
const own: Readonly<Record<BackupSubject['type'], readonly [string, string][]>> = {
  POSTGRESQL: filesOf('postgresql'),
  REDIS: filesOf('redis'),
  MYSQL: filesOf('mysql'),
  MONGODB: filesOf('mongodb'),
};

/** Returns the scripts for a type of database, as files of an instance. */
export function toolFiles(type: BackupSubject['type']): readonly WorkloadFile[] {
  return [...common, ...own[type]].map(([name, text]) => ({ path: `${scriptFolder}/${name}`, content: new Sensitive(text) }));
}

export function toolCommand(script: BackupScript): readonly string[] {
  return ['sh', `${scriptFolder}/${script}.sh`];
}

/** Returns whether a killed restore of this type may leave something that the script `release` removes. */
export function hasRelease(type: BackupSubject['type']): boolean {
  return own[type].some(([name]) => name === 'release.sh');
}

export interface BackupFacts {
  readonly serverVersion: string | null;
  readonly dataBytes: number | null;
}

/** Parses the content of `factsFile`. */
export function toFacts(text: string | null): BackupFacts {
  const found = new Map((text ?? '').split('\n').map((line) => [line.split(' ', 1)[0] ?? '', line.slice(line.indexOf(' ') + 1)]));
  const bytes = Number(found.get('bytes') ?? Number.NaN);
  return {
    serverVersion: found.get('version')?.trim().slice(0, 100) ?? null,
    dataBytes: Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : null,
  };
}
