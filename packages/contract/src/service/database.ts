import Type from 'typebox';
import { AnnotationsGroup } from '../group/annotations-group.ts';
import { LabelsGroup } from '../group/labels-group.ts';
import { operation } from '../operation.ts';
import { about, DateTime, enumeration, List, Name, Named, Nullable, Reference, Text, Uuid, Words } from '../shape.ts';
import { DryRun } from '../shared/deployment-plan.ts';
import { databaseAccessibilities, databaseModes, databaseTypes } from '../shared/words.ts';
import { serviceStates } from '../shared/deployment-words.ts';
import { Application } from './application.ts';
import { kinds } from './kinds.ts';
import { processFields } from './parts.ts';
import { metricsOperations } from './metrics.ts';
import { deployOperations, restartOperations, stopOperations } from './deploy-operations.ts';
import { statusOperations, historyOperations, oldHistoryOperations } from './reading-operations.ts';
import { recordOperations, cloneOperations } from './record-operations.ts';

const diskTypes = enumeration(
  'DatabaseDiskType',
  { gp2: 'The older general purpose disk.', gp3: 'The newer general purpose disk.' },
  'A disk type of AWS. It has no effect.',
);

export const Database = Named(
  'Database',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    environment: about('The environment it belongs to.', Reference),
    name: about('Its name, unique in the environment without regard to case.', Type.String()),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    service_type: about('The type, which tells records apart.', Words(['DATABASE'] as const)),
    icon_uri: about('The icon of the service.', Type.String()),
    type: Words(databaseTypes),
    version: about('The version; a short one is the newest within it.', Type.String()),
    mode: Words(databaseModes),
    accessibility: Words(databaseAccessibilities, { default: 'PRIVATE' }),
    /**
     * The host name of the database. It is reachable by services of its environment, or by everybody if the database is
     * public.
     */
    host: Type.Optional(about('The host: inside the environment, or public if it is PUBLIC.', Type.String())),
    port: Type.Optional(about('The port at that host.', Type.Integer())),
    cpu: about('The CPU limit, in millicores.', Type.Integer()),
    memory: about('The memory limit, in MB.', Type.Integer()),
    /** Storage in GB. */
    storage: about('The expected size of the data, in GB.', Type.Integer()),
    instance_type: Type.Optional(about('Stored; it has no effect.', Type.String())),
    maximum_cpu: Type.Optional(about('What the cluster has, in millicores. Absent: unknown.', Type.Integer())),
    maximum_memory: Type.Optional(about('What the cluster has, in MB. Absent: unknown.', Type.Integer())),
    disk_encrypted: Type.Optional(about('Always false: Davit does not encrypt volumes.', Type.Boolean())),
    disk_type: Type.Optional(about('Stored; it has no effect.', Nullable(Words(diskTypes)))),
    annotations_groups: Type.Optional(about('The annotation groups that it uses.', Type.Array(AnnotationsGroup))),
    labels_groups: Type.Optional(about('The label groups that it uses.', Type.Array(LabelsGroup))),
  }),
  'A database with its volume and credentials.',
);

const Version = Type.String({ pattern: '^[0-9]+(\\.[0-9]+){0,3}$', maxLength: 50 });

const fields = {
  description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
  accessibility: Type.Optional(
    about('From where it is reachable.', Nullable(Words(databaseAccessibilities, { default: 'PRIVATE' }))),
  ),
  cpu: Type.Optional(
    about(
      'The CPU limit, in millicores; at most `maximum_cpu`.',
      Nullable(Type.Integer({ default: 250, minimum: 10, maximum: 2_147_483_647 })),
    ),
  ),
  memory: Type.Optional(
    about(
      'The memory limit, in MB. Absent: 100 for PostgreSQL and Redis, 256 for MongoDB, 512 for MySQL.',
      Nullable(Type.Integer({ minimum: 6, maximum: 2_147_483_647 })),
    ),
  ),
  storage: Type.Optional(
    about(
      'The expected size in GB. It cannot shrink after the first deployment.',
      Nullable(Type.Integer({ default: 10, minimum: 1, maximum: 65_536 })),
    ),
  ),
  instance_type: Type.Optional(about('Stored; it has no effect.', Nullable(Type.String({ maxLength: 255 })))),
  annotations_groups: processFields.annotations_groups,
  labels_groups: processFields.labels_groups,
  icon_uri: processFields.icon_uri,
};

const DatabaseRequest = Named(
  'DatabaseRequest',
  Type.Object({
    name: about('Its name, unique in the environment without regard to case.', Name),
    type: about('The database system; it cannot be changed later.', Words(databaseTypes)),
    version: about('A version of the catalogue, or one within it.', Version),
    mode: Words(databaseModes),
    ...fields,
  }),
  'A database to create.',
);
const DatabaseEditRequest = Named(
  'DatabaseEditRequest',
  Type.Object({
    name: Type.Optional(about('Its new name, unique in the environment without regard to case.', Name)),
    version: Type.Optional(about('After the first deployment, only one that can read the data.', Nullable(Version))),
    disk_type: Type.Optional(about('Stored; it has no effect.', Nullable(Words(diskTypes)))),
    ...fields,
  }),
  'The fields of a database to change; the others stay.',
);

const at = '/database/{databaseId}' as const;
const tag = kinds.DATABASE.Noun;
const target = 'service' as const;

const { deploy, redeploy, uninstall } = deployOperations(kinds.DATABASE, {
  query: DryRun,
  body: Type.Object({}),
  answer: Type.Object({}),
  description: `
      Starts the database with its current configuration; its data stays. It is unavailable meanwhile unless nothing has
      changed.
    `,
});
// Accepted because clients send it. On other platforms, changes are applied in a maintenance window.
const query = Type.Object({
  ...DryRun.properties,
  applyImmediately: Type.Optional(about('No effect: there are no maintenance windows.', Type.Boolean())),
});

export const databaseOperations = {
  ...recordOperations(kinds.DATABASE, { record: Database, create: DatabaseRequest, edit: DatabaseEditRequest }),
  deploy: { ...deploy, query },
  redeploy: { ...redeploy, query },
  uninstall,
  ...restartOperations(kinds.DATABASE),
  ...stopOperations(kinds.DATABASE),
  ...cloneOperations(kinds.DATABASE, Database),
  ...statusOperations(kinds.DATABASE),
  ...historyOperations(kinds.DATABASE),
  ...metricsOperations(kinds.DATABASE),
  ...oldHistoryOperations(kinds.DATABASE, {
    status: about('The state that the deployment led to.', Words(serviceStates)),
  }),
  credentials: operation({
    id: 'getDatabaseMasterCredentials',
    method: 'GET',
    path: `${at}/masterCredentials`,
    tag,
    summary: 'Read the credentials of a database',
    description: `
      Returns host, port, login and password. They exist as soon as the database is created; it runs after its first
      deployment. Services of the environment get them as built-in variables, which \`createDatabase\` lists.
    `,
    scope: 'WRITE',
    target,
    showsCredentials: true,
    status: 200,
    response: Named(
      'DatabaseCredentials',
      Type.Object({
        host: about('The host: inside the environment, or public if it is PUBLIC.', Type.String()),
        port: about('The port at that host.', Type.Integer()),
        login: about('The name of the administrator.', Type.String()),
        password: about('The password of the administrator.', Type.String()),
      }),
      'How to connect to a database as its administrator.',
    ),
    errors: [],
  }),
  versions: operation({
    id: 'listDatabaseVersion',
    method: 'GET',
    path: `${at}/version`,
    tag,
    summary: 'List the versions for a database',
    description: `
      Returns the versions of the catalogue for this type of database. After the first deployment, only those that
      can read the data are accepted.
    `,
    scope: 'READ',
    target,
    status: 200,
    response: List(Type.Object({ name: about('The version, for `version` of a request.', Type.String()) })),
    errors: [],
  }),
  applications: operation({
    id: 'listDatabaseApplication',
    method: 'GET',
    path: `${at}/application`,
    tag,
    summary: 'List the applications that use a database',
    description: `
      Returns the applications of the environment with an alias of one of the database's built-in variables.
      Applications that use a built-in variable directly are not listed.
    `,
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
    summary: 'Detach an application from a database',
    description: `
      Deletes the application's aliases of the database's variables. The application keeps its current values until
      its next deployment.
    `,
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
    summary: 'List the database systems of an environment',
    description: `
      Returns the types of databases that can be created in the environment, each with its versions and modes. They
      come from the catalogue of the installation.
    `,
    scope: 'READ',
    target: 'environment',
    status: 200,
    response: List(
      Named(
        'DatabaseConfiguration',
        Type.Object({
          database_type: Words(databaseTypes),
          version: about(
            'Its versions, in the order of the catalogue.',
            Type.Array(
              Named(
                'DatabaseVersionMode',
                Type.Object({
                  name: about('The version, for `version` of a request.', Type.String()),
                  supported_mode: Words(databaseModes),
                }),
                'A version of a database system, in one mode.',
              ),
            ),
          ),
        }),
        'A database system and its versions.',
      ),
    ),
    errors: [],
  }),
};
