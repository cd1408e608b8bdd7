import type { ErrorDetail } from '@davit/base';
import { databaseTypes, type DatabaseType } from '@davit/contract';
import { parseDocument, readDocument, type DocumentKind } from './document.ts';
import { shape } from './schema.ts';

/**
 * How databases of a version are run. In `tag`, `url` and the values of `environment` stand `{version}`, `{login}`, `{password}`,
 * `{database}`, `{host}` and `{port}` for what they say, where it is known: the tag knows the version only, the environment all but
 * host and port.
 */
export interface DatabaseImage {
  /** Without tag: `docker.io/library/postgres`. */
  readonly image: string;
  readonly tag: string;
  /** Folder of the volume. */
  readonly data_folder: string;
  readonly port: number;
  readonly login: string;
  /** The database that is there from the start. */
  readonly database: string;
  readonly url: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Empty: the image's own. */
  readonly entrypoint: readonly string[];
  readonly arguments: readonly string[];
}

export interface DatabaseTypeEntry extends DatabaseImage {
  /** MB that a database has which asks for none. */
  readonly memory: number;
  /** Whether a version reads what another one wrote: `SERIES` only within one of `versions`, `FORWARD` also of earlier ones. */
  readonly upgrades: 'SERIES' | 'FORWARD';
  /** By name, oldest first, each with what it has of its own. A request for 16.4 is one of 16. */
  readonly versions: Readonly<Record<string, Partial<DatabaseImage>>>;
}

/** Types and versions of databases: one file of data, read at the start. `docs/databases.md` says how to replace it. */
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
        .map((version) => ({ path: `types.${name}.versions`, message: `has ${version}, which is no version: digits and dots` })),
    ),
};

/** Reads the catalogue of databases: of `file`, or Davit's own. Throws CATALOGUE_INVALID that names what is wrong. */
export function readDatabaseCatalogue(file: string | null): Promise<DatabaseCatalogue> {
  return readDocument(kind, file);
}

/** The same of its text. `name` is for the message. */
export function parseDatabaseCatalogue(text: string, name: string): DatabaseCatalogue {
  return parseDocument(kind, text, name);
}

/** Names of the versions of a type, oldest first. */
export function versionsOf(catalogue: DatabaseCatalogue, name: DatabaseType): readonly string[] {
  return Object.keys(catalogue.types[name].versions).toSorted(compareVersions);
}

/** Which of them a version belongs to: 16.4 and 16 to 16, 4 to 4.4. The newest where it may be several; undefined: none. */
export function seriesOf(catalogue: DatabaseCatalogue, name: DatabaseType, version: string): string | undefined {
  const names = versionsOf(catalogue, name);
  const isWithin = (narrow: string, wide: string): boolean => narrow === wide || narrow.startsWith(`${wide}.`);
  return names.findLast((one) => isWithin(version, one)) ?? names.findLast((one) => isWithin(one, version));
}

/** By their numbers: below 0 where `a` is the earlier one. What a shorter one leaves open is the newest: 16 is after 16.4. */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [a.split('.').map(Number), b.split('.').map(Number)];
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    const difference = (one[index] ?? Infinity) - (other[index] ?? Infinity);
    if (difference !== 0 && !Number.isNaN(difference)) return difference;
  }
  return 0;
}
