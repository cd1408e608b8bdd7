import type { ErrorDetail } from '@davit/base';
import { databaseTypes, type DatabaseType } from '@davit/contract';
import { parseDocument, readDocument, type DocumentKind } from './document.ts';
import { shape } from './schema.ts';

/**
 * How databases of a version are run. `tag`, `url` and the values of `environment` may contain the placeholders
 * `{version}`, `{login}`, `{password}`, `{database}`, `{host}` and `{port}`. In `tag` only the version is known, in
 * `environment` everything except host and port.
 */
export interface DatabaseImage {
  /** Image name without the tag: `docker.io/library/postgres`. */
  readonly image: string;
  readonly tag: string;
  /** Folder in which the volume is mounted. */
  readonly data_folder: string;
  readonly port: number;
  readonly login: string;
  /** Name of the initial database. */
  readonly database: string;
  readonly url: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Empty: the entrypoint of the image. */
  readonly entrypoint: readonly string[];
  readonly arguments: readonly string[];
}

export interface DatabaseTypeEntry extends DatabaseImage {
  /** Default memory of a database in MB. */
  readonly memory: number;
  /**
   * Whether a version can read the data of another version. `SERIES`: only within one of `versions`. `FORWARD`: also
   * the data of earlier versions.
   */
  readonly upgrades: 'SERIES' | 'FORWARD';
  /** Versions by name, oldest first, each with its deviations from the type. A request for 16.4 uses the entry 16. */
  readonly versions: Readonly<Record<string, Partial<DatabaseImage>>>;
}

/**
 * Types and versions of databases: one data file, read at the start. `docs/databases.md` explains how to replace it.
 */
export interface DatabaseCatalogue {
  readonly version: string;
  readonly types: Readonly<Record<DatabaseType, DatabaseTypeEntry>>;
}

const text = { type: 'string', minLength: 1, maxLength: 1000 };
const texts = { type: 'array', items: { type: 'string', maxLength: 10_000 } };
const image = {
  image: { type: 'string', pattern: '^[a-z0-9.:/_-]+$' },
  tag: text,
  data_folder: { type: 'string', pattern: '^/.+' },
  port: { type: 'integer', minimum: 1, maximum: 65_535 },
  login: text,
  database: text,
  url: text,
  environment: { type: 'object', additionalProperties: { type: 'string' } },
  entrypoint: texts,
  arguments: texts,
};
const versionForm = /^[0-9]+(\.[0-9]+)*$/;
const type = shape({
  ...image,
  memory: { type: 'integer', minimum: 6 },
  upgrades: { enum: ['SERIES', 'FORWARD'] },
  versions: { type: 'object', minProperties: 1, additionalProperties: shape(image, Object.keys(image)) },
});

const kind: DocumentKind<DatabaseCatalogue> = {
  what: 'catalogue of databases',
  variable: 'DAVIT_DATABASE_CATALOGUE',
  ownFile: new URL('../../data/databases.json', import.meta.url),
  schema: shape({ version: text, types: shape(Object.fromEntries(databaseTypes.map((name) => [name, type]))) }),
  contradictions: ({ types }) =>
    databaseTypes.flatMap((name): ErrorDetail[] =>
      Object.keys(types[name].versions)
        .filter((version) => !versionForm.test(version))
        .map((version) => ({
          path: `types.${name}.versions`,
          message: `has ${version}, which is not a version of digits and dots`,
        })),
    ),
};

/** Reads the catalogue of databases from `file`, or Davit's own. Throws CATALOGUE_INVALID with the faults. */
export function readDatabaseCatalogue(file: string | null): Promise<DatabaseCatalogue> {
  return readDocument(kind, file);
}

/** Parses the catalogue from its text. `name` appears in error messages. */
export function parseDatabaseCatalogue(text: string, name: string): DatabaseCatalogue {
  return parseDocument(kind, text, name);
}

/** Returns the names of a type's versions, oldest first. */
export function versionsOf(catalogue: DatabaseCatalogue, name: DatabaseType): readonly string[] {
  return Object.keys(catalogue.types[name].versions).toSorted(compareVersions);
}

/**
 * Returns the entry to which a version belongs: 16.4 and 16 belong to 16, 4 belongs to 4.4. Returns the newest if
 * several match; undefined if none does.
 */
export function seriesOf(catalogue: DatabaseCatalogue, name: DatabaseType, version: string): string | undefined {
  const names = versionsOf(catalogue, name);
  const isWithin = (narrow: string, wide: string): boolean => narrow === wide || narrow.startsWith(`${wide}.`);
  return names.findLast((one) => isWithin(version, one)) ?? names.findLast((one) => isWithin(one, version));
}

/**
 * Compares two versions by their numbers: the result is below 0 if `a` is earlier. A missing number counts as the
 * newest: 16 is after 16.4.
 */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [a.split('.').map(Number), b.split('.').map(Number)];
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    const difference = (one[index] ?? Infinity) - (other[index] ?? Infinity);
    if (difference !== 0 && !Number.isNaN(difference)) return difference;
  }
  return 0;
}
