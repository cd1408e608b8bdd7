import { randomUUID } from 'node:crypto';
import { advancedSettings, operations, type Body } from '@davit/contract';
import type { Workload } from '@davit/drivers';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';
import { allKinds } from '../../../../../engine/src/kinds/index.ts';
import { Kinds } from '../../../../../engine/src/kinds/kinds.ts';
import { toWorkload } from '../../../../../engine/src/workload/workload.ts';
import { readDatabaseCatalogue } from '../../../catalogue/databases.ts';
import { refuseUnstorable } from '../../../http/json.ts';
import { valid, type Schema } from '../../../http/testing/arbitrary.ts';
import { Problems } from '../../shared/problems.ts';
import { checkLength, checkMountPath } from '../../variable/check.ts';
import type { VariableRow } from '../../variable/index.ts';
import { checkKey } from '../../variable/key.ts';
import type { Groups } from '../groups.ts';
import { container } from '../kinds/container.ts';
import { composeRelease } from '../release.ts';
import type { ServiceFacts } from '../rows.ts';
import { mergedSettings } from './advanced-settings.ts';

/** Settings of an installation that serves addresses without HTTPS, for releases. */
export const testInstallation = {
  gatewayDomain: 'apps.example.org',
  gatewayPort: 4480,
  variablePrefix: 'DAVIT',
  gatewayHttpsPort: null,
  addressCertificates: 'none' as const,
};

/*
 * Services as the API accepts them, as the workloads that a driver gets. Each value passes the stages of a deployment:
 * validation, rules, release, workload.
 */

type ContainerRequest = Body<(typeof operations)['createContainer']>;

export interface TestService {
  /** The request that creates the service, without the members that every request has. */
  readonly request: Partial<ContainerRequest>;
  readonly variables?: readonly { readonly key: string; readonly value: string; readonly mountPath?: string }[];
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly groups?: Groups;
}

const ajv = new Ajv({ strict: false });
addFormats.default(ajv);
const isRequest = ajv.compile(operations.createContainer.body);
const schemas: Readonly<Record<string, object>> = advancedSettings.CONTAINER;
const isSetting = new Map(Object.entries(schemas).map(([name, schema]) => [name, ajv.compile(schema)] as const));

const databases = await readDatabaseCatalogue(null);
const kinds = new Kinds(allKinds);
const registryId = randomUUID();
const at = '2026-01-01T00:00:00.000Z';
const required = { name: 'web', registry_id: registryId, image_name: 'team/web', tag: '1', healthchecks: {} };

/** `driver`: the cluster of the service, as the release sees it. */
export interface TestPlace {
  readonly driver: string;
  readonly owner: Workload['owner'];
  readonly image: string;
}

/** Returns the workload of a service, or what the API answers to the requests that would create it. */
export function accepted(service: TestService, { driver, owner, image }: TestPlace): Workload | string {
  const problems = new Problems();
  const request = { ...required, ...service.request };
  if (!isRequest(request)) return `schema: ${ajv.errorsText(isRequest.errors)}`;
  const { settings = {}, variables = [], groups } = service;
  for (const [name, value] of Object.entries(settings)) if (isSetting.get(name)?.(value) !== true) return `schema: ${name}`;
  try {
    refuseUnstorable(request, '');
    refuseUnstorable(variables, '');
  } catch (error) {
    return String(error);
  }
  const rules = {
    problems,
    caps: null,
    reserved: new Map(),
    allowLocalRepositories: false,
    scalesByEvents: false,
    autoPreview: false,
    databases,
    isInstalled: false,
    newSecret: () => randomUUID(),
  };
  const spec = container.create(request, rules);
  const defaults = Object.fromEntries(Object.keys(schemas).map((name) => [name, null]));
  const advanced_settings = mergedSettings(settings, {}, { defaults, most: {}, problems });
  const rows: VariableRow[] = [];
  for (const { key, value, mountPath = null } of variables) {
    checkKey(key, 'DAVIT', problems);
    if (mountPath === null) checkLength({ key, value }, problems);
    checkMountPath(mountPath, rows, problems);
    rows.push(row(owner.service, key, { value, mount_path: mountPath }));
  }
  if (problems.found.length > 0) return JSON.stringify(problems.found);
  const facts = factsOf({ ...spec, advanced_settings }, request.name, { driver, owner });
  const clusterSettings = { [driver]: { address: 'https://east.example.org' } };
  const { config } = composeRelease(facts, rows, { ...testInstallation, clusterSettings }, groups);
  return toWorkload({
    owner,
    release: randomUUID(),
    rollout: randomUUID(),
    image,
    config,
    commit: null,
    secrets: new Map(),
    builtInPrefix: 'DAVIT_',
    readyTimeoutSeconds: 60,
    terminationGraceSeconds: 10,
    kinds,
  });
}

function row(service: string, key: string, changes: Pick<VariableRow, 'value' | 'mount_path'>): VariableRow {
  return {
    id: randomUUID(),
    project_id: null,
    environment_id: null,
    service_id: service,
    key,
    type: changes.mount_path === null ? 'VALUE' : 'FILE',
    is_secret: false,
    secret_value_id: null,
    reference_keys: null,
    target_id: null,
    target_builtin: null,
    description: null,
    enable_interpolation_in_file: false,
    created_at: at,
    updated_at: at,
    ...changes,
  };
}

function factsOf(spec: ServiceFacts['spec'], name: string, { driver, owner }: Pick<TestPlace, 'driver' | 'owner'>): ServiceFacts {
  return {
    id: owner.service,
    organization_id: owner.organization,
    project_id: owner.project,
    environment_id: owner.environment,
    type: 'CONTAINER',
    name,
    created_at: at,
    updated_at: at,
    driver,
    git_token_name: null,
    registry: { id: registryId, name: 'hub', url: 'https://registry.example.org', kind: 'GENERIC_CR' },
    chart: null,
    deployed_commit: null,
    project_created_at: at,
    environment_name: 'Production',
    environment_mode: 'PRODUCTION',
    environment_created_at: at,
    environment_deleting: false,
    cluster_id: randomUUID(),
    cloud_provider: 'ON_PREMISE',
    region: 'local',
    stage_id: 's',
    stage_name: 'CONTAINER DEFAULT',
    stage_position: 3,
    is_skipped: false,
    databases: [],
    deleting: false,
    domains: [],
    spec,
  };
}

// Characters with a meaning in the formats through which settings reach a program: lists, options, paths, shells.
const marks = fc.constantFrom(...Array.from(',;:="\'\\ $%{}[]()*?#&|<>~!@^`-./aZ09_éß漢\u{1f6a2}\u202e\t\n'));
const text = fc.oneof(fc.string({ unit: marks, maxLength: 24 }), fc.string({ unit: 'grapheme', maxLength: 12 }));
const path = fc.oneof(
  fc.string({ unit: marks, minLength: 1, maxLength: 24 }).map((rest) => `/${rest}`),
  fc.constantFrom('/data', '/var/lib/app', '/opt/a b', '/srv/ü', '/etc/app.d', `/${'a/'.repeat(200)}x`, `/${'a'.repeat(255)}`),
);

/** Texts and paths that random strings of the schema rarely have. The rest of each request follows the schema. */
const shaped = fc.record(
  {
    name: text.filter((name) => name.trim() !== ''),
    arguments: fc.array(text, { maxLength: 4 }),
    entrypoint: fc
      .array(text, { minLength: 1, maxLength: 3 })
      .map((words) => words.map((word) => `'${word.replaceAll("'", '')}'`).join(' ')),
    storage: fc.array(
      fc.record({ type: fc.constant('FAST_SSD' as const), size: fc.integer({ min: 1, max: 65_536 }), mount_point: path }),
      {
        maxLength: 3,
      },
    ),
  },
  { requiredKeys: [] },
);

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- shapes of the contract are JSON Schema
const { properties = {} } = operations.createContainer.body as Schema;
const bySchema = fc.record(
  Object.fromEntries(
    ['ports', 'healthchecks', 'cpu', 'memory', 'icon_uri'].map((name) => [name, valid(properties[name] ?? {}, fc.uuid())]),
  ),
);

function settingsOf(schema: Readonly<Record<string, object>>): fc.Arbitrary<Record<string, unknown>> {
  const own = Object.entries(schema).filter(([name]) => /^(?:deployment|security|hpa)\./.test(name));
  return fc.record(Object.fromEntries(own.map(([name, one]) => [name, valid(one as Schema, fc.uuid())])), { requiredKeys: [] });
}

/** Services of which most are accepted. */
export const anyService: fc.Arbitrary<TestService> = fc
  .record({
    bySchema,
    shaped,
    settings: settingsOf(schemas),
    variables: fc.array(
      fc.record(
        { key: fc.stringMatching(/^[A-Za-z][A-Za-z0-9_]{0,20}$/), value: text, mountPath: path },
        { requiredKeys: ['key', 'value'] },
      ),
      { maxLength: 4 },
    ),
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `accepted` validates it
  .map(({ bySchema: drawn, shaped: own, settings, variables }) => ({
    request: { ...drawn, ...own } as Partial<ContainerRequest>,
    settings,
    variables,
  }));
