import { randomBytes, randomUUID } from 'node:crypto';
import { kinds, type Body, type DatabaseType, type operations, type Response } from '@davit/contract';
import { compareVersions, seriesOf, versionsOf, type DatabaseImage } from '../../../catalogue/databases.ts';
import { databaseHost, databaseUrl } from '../../variable/index.ts';
import { toGroupRecords, type Groups } from '../groups.ts';
import type { ServiceRow } from '../rows.ts';
import type { PortSpec } from '../shapes/ports.ts';
import type { ProbeSpec } from '../shapes/probe.ts';
import { isLocalDriver } from '../../../local-driver.ts';
import { defineKind, type OwnProcess, type RecordSettings, type SourceRow } from './kind.ts';
import type { Caps, SpecRules } from '../spec.ts';
import { blankProcess, mergedProcess, type ProcessSpec } from './process.ts';
import { recordHead } from './record-head.ts';

type CreateRequest = Body<(typeof operations)['createDatabase']>;
type EditRequest = Body<(typeof operations)['editDatabase']>;
type DatabaseRecord = Response<(typeof operations)['getDatabase']>;

/**
 * The spec of a database: the settings that all processes have, and the version and mode of the database. `recipe` is
 * the catalogue's entry at the time the version was chosen, so that a new catalogue does not change existing databases.
 * Stored in this form.
 */
export interface DatabaseSpec extends ProcessSpec {
  readonly type: DatabaseType;
  readonly version: string;
  readonly mode: DatabaseRecord['mode'];
  readonly accessibility: DatabaseRecord['accessibility'];
  readonly instance_type: string | null;
  readonly disk_type: DatabaseRecord['disk_type'];
  readonly recipe: DatabaseImage;
  /** Id of the stored password. Releases of other services reference the password by this id too. */
  readonly password_secret_id: string;
}

const defaultStorage = 10;
const passwordBytes = 24;

/** The kind of services that run the catalogue's image for a type and version of database. */
export const database = defineKind({
  type: kinds.DATABASE.type,
  stageName: 'DATABASE DEFAULT',
  hostPrefix: 'database',
  mindsInstalled: true,
  sharesSecrets: true,
  create: newDatabase,
  edit: editedDatabase,
  record: toDatabaseRecord,
  workload: (spec: DatabaseSpec) => spec,
  source: ({ spec }: SourceRow<DatabaseSpec>) => ({
    type: 'IMAGE',
    image: spec.recipe.image,
    tag: spec.recipe.tag.replaceAll('{version}', spec.version),
    registryId: null,
  }),
  choice: (_request: unknown) => ({ releaseId: null, commitId: null }),
  host: (id: string, spec: DatabaseSpec) => databaseHost(id, spec.type),
  process: toProcess,
  acceptsTls,
});

/**
 * Returns whether the gateway terminates TLS for clients. A MySQL server speaks first, so the gateway would have to
 * speak its protocol; the server has a certificate that it made for itself (adr/0048).
 */
function acceptsTls({ type }: DatabaseSpec): boolean {
  return type !== 'MYSQL';
}

function newDatabase(request: CreateRequest, rules: SpecRules): DatabaseSpec {
  const entry = rules.databases.types[request.type];
  const icon = request.type.toLowerCase();
  const own: DatabaseSpec = {
    ...blankProcess(icon, {}, rules),
    cpu: 250,
    memory: entry.memory,
    healthchecks: { readiness_probe: readiness(entry.port), liveness_probe: null },
    ports: [portOf(request.type, entry.port)],
    storage: [{ id: randomUUID(), type: 'FAST_SSD', size: request.storage ?? defaultStorage, mount_point: entry.data_folder }],
    type: request.type,
    version: request.version,
    mode: request.mode,
    accessibility: 'PRIVATE',
    instance_type: null,
    disk_type: null,
    recipe: { ...recipeOf(rules, request.type, request.version) },
    password_secret_id: rules.newSecret(randomBytes(passwordBytes).toString('hex')),
  };
  return editedDatabase(request, own, { ...rules, isInstalled: false });
}

/** Returns the spec after an edit; see `mergedProcess`. Refuses edits that would lose or break existing data. */
function editedDatabase(request: EditRequest, former: DatabaseSpec, rules: SpecRules): DatabaseSpec {
  const { description, icon_uri, cpu, memory, annotations_groups, labels_groups } = request;
  const requested = { description, icon_uri, cpu, memory, annotations_groups, labels_groups };
  const given = Object.fromEntries(Object.entries(requested).filter(([, value]) => value !== undefined));
  const version = request.version ?? former.version;
  const accessibility = request.accessibility ?? former.accessibility;
  const spec: DatabaseSpec = {
    ...former,
    ...mergedProcess(given, former, rules),
    version,
    accessibility,
    instance_type: request.instance_type === undefined ? former.instance_type : request.instance_type,
    disk_type: request.disk_type === undefined ? former.disk_type : request.disk_type,
    recipe: request.version ? renewed(former.recipe, recipeOf(rules, former.type, version)) : former.recipe,
    ports: former.ports.map((port) => ({
      ...port,
      publicly_accessible: accessibility === 'PUBLIC',
      external_port: accessibility === 'PUBLIC' ? port.external_port : null,
    })),
    storage: former.storage.map((one) => ({ ...one, size: request.storage ?? one.size })),
  };
  // An accepted version stays editable after the catalogue has dropped it.
  if (request.version) checkVersion(spec, former, rules);
  checkStorage(spec, former, rules);
  return spec;
}

/** Returns the recipe of another version. The login and the first database stay, as the data already contains them. */
function renewed({ login, database: name, port, data_folder }: DatabaseImage, next: DatabaseImage): DatabaseImage {
  return { ...next, login, database: name, port, data_folder };
}

function recipeOf({ databases }: SpecRules, type: DatabaseType, version: string): DatabaseImage {
  const { memory: _memory, upgrades: _upgrades, versions, ...image } = databases.types[type];
  return { ...image, ...versions[seriesOf(databases, type, version) ?? ''] };
}

function checkVersion(spec: DatabaseSpec, former: DatabaseSpec, { databases, isInstalled, problems }: SpecRules): void {
  const { type, version } = spec;
  const series = seriesOf(databases, type, version);
  if (series === undefined) {
    const known = versionsOf(databases, type).join(', ');
    problems.add(
      'version',
      `is not a version of ${type} that Davit offers; it offers ${known} and versions within them, as 1.2 is within 1`,
    );
    return;
  }
  if (!isInstalled || version === former.version) return;
  const before = seriesOf(databases, type, former.version);
  const dump = 'create another database of that version and move the data with a dump';
  if (compareVersions(version, former.version) < 0) {
    problems.add('version', `cannot be downgraded: ${version} may not read the data of ${former.version}; ${dump}`);
  } else if (series !== before && databases.types[type].upgrades === 'SERIES') {
    problems.add('version', `cannot become ${version}: it does not read the data of ${former.version}; ${dump}`);
  }
}

function checkStorage(spec: DatabaseSpec, former: DatabaseSpec, { isInstalled, problems }: SpecRules): void {
  const [now, before] = [spec.storage[0]?.size ?? 0, former.storage[0]?.size ?? 0];
  if (isInstalled && now < before) problems.add('storage', `cannot shrink: it is ${before} GB and may only grow`);
}

function portOf(type: DatabaseType, port: number): PortSpec {
  return {
    id: randomUUID(),
    name: type.toLowerCase(),
    internal_port: port,
    external_port: null,
    publicly_accessible: false,
    is_default: false,
    protocol: 'TCP',
    public_path: null,
    public_path_rewrite: null,
  };
}

// The first start writes a whole data folder, which takes a minute on a slow disk. A slow database is not restarted: it
// may be recovering, and would have to start the recovery again.
function readiness(port: number): ProbeSpec {
  return {
    type: { tcp: { port, host: null }, http: null, exec: null, grpc: null },
    initial_delay_seconds: 0,
    period_seconds: 2,
    timeout_seconds: 2,
    success_threshold: 1,
    failure_threshold: 90,
  };
}

function toProcess({ recipe, version, password_secret_id: secret }: DatabaseSpec): OwnProcess {
  const known = { version, login: recipe.login, password: { secret }, database: recipe.database };
  return {
    entrypoint: recipe.entrypoint,
    arguments: recipe.arguments,
    environment: Object.entries(recipe.environment)
      .map(([name, value]) => ({ name, parts: databaseUrl(value, known) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/**
 * Returns the address of a database. A public database is reachable by everybody, other databases by the services of
 * their environment.
 */
export function databaseAddress(
  { id, spec, driver }: { readonly id: string; readonly spec: DatabaseSpec; readonly driver: string },
  { gatewayDomain, gatewayHttpsPort, addressCertificates }: RecordSettings,
): { readonly host: string; readonly port: number } {
  const external = spec.ports.find((port) => port.publicly_accessible)?.external_port ?? null;
  // Databases on other clusters have no external port.
  const inside = databaseHost(id, spec.type);
  if (external === null || !isLocalDriver(driver)) return { host: inside, port: spec.recipe.port };
  // A wildcard does not cover the domain itself, and a certificate of its own needs a name of its own.
  const hasCertificate = acceptsTls(spec) && gatewayHttpsPort !== null && addressCertificates !== 'none';
  return { host: hasCertificate ? `${inside}.${gatewayDomain}` : gatewayDomain, port: external };
}

function toDatabaseRecord(
  row: ServiceRow<DatabaseSpec>,
  caps: Caps | null,
  groups: Groups | undefined,
  settings: RecordSettings,
): DatabaseRecord {
  const { spec } = row;
  return {
    ...recordHead(row, kinds.DATABASE.type),
    description: spec.description,
    icon_uri: spec.icon_uri,
    type: spec.type,
    version: spec.version,
    mode: spec.mode,
    accessibility: spec.accessibility,
    ...databaseAddress(row, settings),
    cpu: spec.cpu,
    memory: spec.memory,
    storage: spec.storage[0]?.size ?? defaultStorage,
    ...(spec.instance_type === null ? {} : { instance_type: spec.instance_type }),
    ...(caps === null ? {} : { maximum_cpu: caps.cpuMillicores, maximum_memory: caps.memoryMiB }),
    disk_encrypted: false,
    disk_type: spec.disk_type ?? null,
    ...toGroupRecords(spec, groups),
  };
}
