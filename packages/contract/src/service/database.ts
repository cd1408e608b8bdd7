import Type from 'typebox';
import { AnnotationsGroup } from '../group/annotations-group.ts';
import { LabelsGroup } from '../group/labels-group.ts';
import { operation } from '../operation.ts';
import { DateTime, List, Name, Nullable, Reference, Text, Uuid, Words, Named } from '../shape.ts';
import { DryRun } from '../shared/deployment.ts';
import { databaseAccessibilities, databaseModes, databaseTypes, serviceStates } from '../shared/words.ts';
import { Application } from './application.ts';
import { kinds } from './kinds.ts';
import { processFields } from './parts.ts';
import { metricsOperations } from './metrics.ts';
import * as shared from './shared-operations.ts';

const diskTypes = ['gp2', 'gp3'] as const;

export const Database = Named(
  'Database',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    environment: Reference,
    name: Type.String(),
    description: Type.Optional(Type.String()),
    service_type: Words(['DATABASE'] as const),
    icon_uri: Type.String(),
    type: Words(databaseTypes),
    version: Type.String(),
    mode: Words(databaseModes),
    accessibility: Words(databaseAccessibilities, { default: 'PRIVATE' }),
    /**
     * The host name of the database. It is reachable by services of its environment, or by everybody if the database is
     * public.
     */
    host: Type.Optional(Type.String()),
    port: Type.Optional(Type.Integer()),
    cpu: Type.Integer(),
    memory: Type.Integer(),
    /** Storage in GB. */
    storage: Type.Integer(),
    instance_type: Type.Optional(Type.String()),
    maximum_cpu: Type.Optional(Type.Integer()),
    maximum_memory: Type.Optional(Type.Integer()),
    disk_encrypted: Type.Optional(Type.Boolean()),
    disk_type: Type.Optional(Nullable(Words(diskTypes))),
    annotations_groups: Type.Optional(Type.Array(AnnotationsGroup)),
    labels_groups: Type.Optional(Type.Array(LabelsGroup)),
  }),
);

const Version = Type.String({ pattern: '^[0-9]+(\\.[0-9]+){0,3}$', maxLength: 50 });

const fields = {
  description: Type.Optional(Nullable(Text)),
  accessibility: Type.Optional(Nullable(Words(databaseAccessibilities, { default: 'PRIVATE' }))),
  cpu: Type.Optional(Nullable(Type.Integer({ default: 250, minimum: 10, maximum: 2_147_483_647 }))),
  memory: processFields.memory,
  storage: Type.Optional(Nullable(Type.Integer({ default: 10, minimum: 1, maximum: 65_536 }))),
  instance_type: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
  annotations_groups: processFields.annotations_groups,
  labels_groups: processFields.labels_groups,
  icon_uri: processFields.icon_uri,
};

const DatabaseRequest = Named(
  'DatabaseRequest',
  Type.Object({
    name: Name,
    type: Words(databaseTypes),
    version: Version,
    mode: Words(databaseModes),
    ...fields,
  }),
);
const DatabaseEditRequest = Named(
  'DatabaseEditRequest',
  Type.Object({
    name: Type.Optional(Name),
    version: Type.Optional(Nullable(Version)),
    disk_type: Type.Optional(Nullable(Words(diskTypes))),
    ...fields,
  }),
);

const at = '/database/{databaseId}' as const;
const tag = kinds.DATABASE.Noun;
const target = 'service' as const;

const { deploy, redeploy, uninstall } = shared.deployOperations(kinds.DATABASE, {
  query: DryRun,
  body: Type.Object({}),
  answer: Type.Object({}),
  summary: 'Deploy a database with its current configuration, always at once: there are no maintenance windows',
});
// Accepted because clients send it. On other platforms, changes are applied in a maintenance window.
const query = Type.Object({ ...DryRun.properties, applyImmediately: Type.Optional(Type.Boolean()) });

export const databaseOperations = {
  ...shared.recordOperations(kinds.DATABASE, { record: Database, create: DatabaseRequest, edit: DatabaseEditRequest }),
  deploy: { ...deploy, query },
  redeploy: { ...redeploy, query },
  uninstall,
  ...shared.restartOperations(kinds.DATABASE),
  ...shared.stopOperations(kinds.DATABASE),
  ...shared.cloneOperations(kinds.DATABASE, Database),
  ...shared.statusOperations(kinds.DATABASE),
  ...shared.historyOperations(kinds.DATABASE),
  ...metricsOperations(kinds.DATABASE),
  ...shared.oldHistoryOperations(kinds.DATABASE, { status: Words(serviceStates) }),
  credentials: operation({
    id: 'getDatabaseMasterCredentials',
    method: 'GET',
    path: `${at}/masterCredentials`,
    tag,
    summary: 'Read the connection data of a database: host, port, login and password',
    scope: 'WRITE',
    target,
    showsCredentials: true,
    status: 200,
    response: Named(
      'DatabaseCredentials',
      Type.Object({ host: Type.String(), port: Type.Integer(), login: Type.String(), password: Type.String() }),
    ),
    errors: [],
  }),
  versions: operation({
    id: 'listDatabaseVersion',
    method: 'GET',
    path: `${at}/version`,
    tag,
    summary: 'List the versions available for databases of this type',
    scope: 'READ',
    target,
    status: 200,
    response: List(Type.Object({ name: Type.String() })),
    errors: [],
  }),
  applications: operation({
    id: 'listDatabaseApplication',
    method: 'GET',
    path: `${at}/application`,
    tag,
    summary: 'List the applications of its environment that use a database: those with an alias of one of its variables',
    scope: 'READ',
    target,
    status: 200,
    response: List(Application),
    errors: [],
  }),
  removeApplication: operation({
    id: 'removeApplicationFromDatabase',
    method: 'DELETE',
    path: `${at}/application/{targetApplicationId}`,
    tag,
    summary: 'Remove from an application its aliases of the variables of a database; its next deployment applies this',
    scope: 'WRITE',
    target,
    // The operation removes variables, and the request names none of them.
    record: null,
    status: 204,
    response: null,
    errors: [409],
  }),
  configuration: operation({
    id: 'listEnvironmentDatabaseConfig',
    method: 'GET',
    path: '/environment/{environmentId}/databaseConfiguration',
    tag,
    summary: 'List the types and versions of databases available in an environment',
    scope: 'READ',
    target: 'environment',
    status: 200,
    response: List(
      Named(
        'DatabaseConfiguration',
        Type.Object({
          database_type: Words(databaseTypes),
          version: Type.Array(
            Named('DatabaseVersionMode', Type.Object({ name: Type.String(), supported_mode: Words(databaseModes) })),
          ),
        }),
      ),
    ),
    errors: [],
  }),
};
