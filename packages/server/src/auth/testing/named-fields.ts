import type { Operation } from '@davit/contract';
import { keyed, source, type Ids, type Recipe, type EventFixture } from '../../resources/event/testing/fixture.ts';
import type { Thing } from './things.ts';

/*
 * The fields of queries and bodies that may name another place or thing than the path does, and the thing that each
 * names.
 */

/**
 * A field that names no place. `fields` matches `operation part:path`, such as `cloneJob body:environment_id`. The
 * first matching rule counts.
 */
interface Harmless {
  readonly fields: RegExp;
  /** Why a field with such a name names no place. */
  readonly because: string;
}

/** A field that names a thing, and how to build a request that names another one. */
export interface Attempt {
  readonly fields: RegExp;
  readonly thing: Thing;
  /** Returns the field's value for the thing's id. Default: the id. */
  readonly value?: (id: string) => unknown;
  /**
   * Which things the field must not name. `foreign`: those of another organization, while everybody may use those of
   * their own. `denied`: those of a place where the role has no right. Default: `both`.
   */
  readonly refuses?: 'foreign' | 'denied' | 'both';
  /** The thing to which the role has no right. Default: `thing`, in a production environment. */
  readonly deniedThing?: Thing;
  /** Even the administrator cannot name a thing outside the path's place. */
  readonly staysInside?: true;
  /** In these tests the request fails for another reason, even with the caller's own thing. */
  readonly failsAnyway?: true;
  /** The field filters a list, which is empty for things of others. */
  readonly isFilter?: true;
  /** Parts of the request that the calls of the audit log's tests do not have. */
  readonly ids?: Recipe['ids'];
  readonly body?: (ids: Ids) => object;
  readonly query?: (ids: Ids) => Readonly<Record<string, string>>;
}

const fresh = async (fixture: EventFixture): Promise<Ids> => fixture.fresh();
const ofEnvironmentVariable = async (fixture: EventFixture): Promise<Ids> => {
  const path = `/environment/${fixture.here['environmentId']}/environmentVariable`;
  return { ...fixture.here, variableId: await fixture.make(path, keyed()) };
};

const harmless: readonly Harmless[] = [
  { fields: /(commit_id|CommitId)$/, because: "is a commit of the service's own repository" },
  { fields: /query:startId$/, because: 'is where a page of a list begins, which the path chooses' },
  { fields: /body:(storage|ports)\[\]\.id$/, because: 'is replaced where the service does not have it already' },
  { fields: /body:(build_mode|autoscaling\.mode)$/, because: 'is a word of the service itself' },
  { fields: /Restriction body:mode$/, because: 'is a word of the restriction itself' },
  { fields: /Database body:mode$/, because: 'is a word of the database itself' },
  { fields: /body:(config\.)?(access_key|vendora_\w+|vendorb_\w+)_id$/, because: 'is an account at a vendor' },
  { fields: /body:infrastructure_charts_parameters\./, because: 'is recorded only' },
  { fields: /body:(features\[\]\.id|routes\[\]\.target)$/, because: 'is a word of the cluster itself' },
  { fields: /_probe\.type\.grpc\.service$/, because: 'is a word that the process behind the probe knows' },
  { fields: /createOrganizationApiToken body:scope$/, because: "is no place; it is compared with the maker's own rights" },
  { fields: /(create|confirm)DeviceSignIn body:scope$/, because: "is no place; it is compared with the person's own rights" },
  {
    fields: /confirmDeviceSignIn body:organization_id$/,
    because: 'is judged by the membership of the person, who is no caller of these tests (account/device.db.test.ts)',
  },
  { fields: /deployTerraform body:id$/, because: 'repeats the id of the path and is not read' },
  { fields: /streamOrganization query:/, because: 'narrows a stream, of which each event is judged by itself' },
  { fields: /searchServiceLog query:(release_id|line)$/, because: 'selects lines of the service of the path' },
  { fields: /compareServiceReleases query:(from|to)$/, because: 'selects releases of the service of the path' },
  { fields: /getOrganizationEvents query:targetId$/, because: "narrows the organization's audit log" },
  { fields: /(createDeploymentRule|editProjectDeployemtnRule) body:mode$/, because: 'says for which environments a rule is' },
  { fields: /cloneEnvironment body:mode$/, because: 'is closed to custom roles with the whole operation' },
  { fields: /createEnvironment body:cluster$/, because: 'is the name of what cluster_id names, and is judged with it' },
  { fields: /(variable|alias|override)_scope$/, because: 'says what kind of place the id beside it names' },
  { fields: /listVariables query:scope$/, because: 'says what kind of place the id beside it names' },
];

const locations: readonly Attempt[] = [
  {
    fields: /(create|edit)Environment body:mode$/,
    thing: 'environmentId',
    value: () => 'PRODUCTION',
    refuses: 'denied',
    ids: fresh,
  },
  {
    fields: /(create|edit)Environment body:cluster_id$/,
    thing: 'clusterId',
    deniedThing: 'otherClusterId',
    failsAnyway: true,
    ids: fresh,
  },
  { fields: /mport\w* body:vars\[\]\.scope$/, thing: 'projectId', value: () => 'PROJECT', refuses: 'denied' },
  { fields: /importEnvironmentVariables query:service_id$/, thing: 'applicationId' },
  { fields: /createVariable body:variable_parent_id$/, thing: 'applicationId' },
  {
    fields: /createVariable(Alias|Override) body:\w+_parent_id$/,
    thing: 'applicationId',
    staysInside: true,
    ids: ofEnvironmentVariable,
  },
  {
    fields: /listVariables query:parent_id$/,
    thing: 'environmentId',
    query: () => ({ scope: 'ENVIRONMENT' }),
  },
  { fields: /getDeploymentStatusByDeploymentRequestId query:/, thing: 'deploymentRequestId' },
  { fields: /clone(Application|Container|Database|Job|Helm|Terraform) body:environment_id$/, thing: 'environmentId', ids: fresh },
  { fields: /restoreDatabase body:backup_id$/, thing: 'backupId' },
  { fields: /cloneEnvironment body:project_id$/, thing: 'projectId' },
  { fields: /cloneEnvironment body:cluster_id$/, thing: 'clusterId', refuses: 'foreign' },
  // In these tests, these services are not deployed, so they cannot be stopped.
  {
    fields: /(stopSelectedServices|rebootServices) body:container_ids\[\]$/,
    thing: 'containerId',
    staysInside: true,
    failsAnyway: true,
  },
  {
    fields: /(stopSelectedServices|rebootServices) body:database_ids\[\]$/,
    thing: 'databaseId',
    staysInside: true,
    failsAnyway: true,
  },
  { fields: /stopSelectedServices body:job_ids\[\]$/, thing: 'jobId', staysInside: true, failsAnyway: true },
  { fields: /stopSelectedServices body:terraform_ids\[\]$/, thing: 'terraformId', staysInside: true, failsAnyway: true },
  { fields: /body:applications\[\]\.application_id$/, thing: 'applicationId', staysInside: true },
  { fields: /body:application_ids\[\]$/, thing: 'applicationId', staysInside: true },
  { fields: /body:(containers\[\]\.id|container_ids\[\])$/, thing: 'containerId', staysInside: true },
  { fields: /body:(databases|database_ids)\[\]$/, thing: 'databaseId', staysInside: true },
  { fields: /body:(jobs\[\]\.id|job_ids\[\])$/, thing: 'jobId', staysInside: true },
  { fields: /body:(helms\[\]\.id|helm_ids\[\])$/, thing: 'helmId', staysInside: true, failsAnyway: true },
  { fields: /body:(terraforms\[\]\.id|terraform_ids\[\])$/, thing: 'terraformId', staysInside: true },
  { fields: /body:release_id$/, thing: 'releaseId', staysInside: true, failsAnyway: true },
  { fields: /body:project_deployment_rule_ids_in_order\[\]$/, thing: 'deploymentRuleId', staysInside: true, failsAnyway: true },
];

const ofOrganization: readonly (Attempt & { readonly refuses: 'foreign' })[] = [
  { fields: /listServicesByOrganizationId query:project_id$/, thing: 'projectId', isFilter: true, refuses: 'foreign' },
  { fields: /listServicesByOrganizationId query:environment_id$/, thing: 'environmentId', isFilter: true, refuses: 'foreign' },
  { fields: /listServicesByOrganizationId query:cluster_id$/, thing: 'clusterId', isFilter: true, refuses: 'foreign' },
  { fields: /getOrganizationEvent\w+ query:\w*rojectId$/, thing: 'projectId', isFilter: true, refuses: 'foreign' },
  { fields: /getOrganizationEvent\w+ query:\w*nvironmentId$/, thing: 'environmentId', isFilter: true, refuses: 'foreign' },
  { fields: /body:labels_groups\[\]\.id$/, thing: 'labelsGroupId', refuses: 'foreign' },
  { fields: /body:annotations_groups\[\]\.id$/, thing: 'annotationsGroupId', refuses: 'foreign' },
  { fields: /Cluster body:cloud_provider_credentials\.credentials\.id$/, thing: 'credentialsId', refuses: 'foreign' },
  { fields: /specifyClusterCloudProviderInfo body:credentials\.id$/, thing: 'credentialsId', refuses: 'foreign' },
  { fields: /body:role_id$/, thing: 'customRoleId', refuses: 'foreign' },
  { fields: /body:user_id$/, thing: 'userId', refuses: 'foreign' },
  { fields: /body:cluster_permissions\[\]\.cluster_id$/, thing: 'clusterId', refuses: 'foreign' },
  { fields: /body:project_permissions\[\]\.project_id$/, thing: 'projectId', refuses: 'foreign' },
  { fields: /Rule body:cluster_id$/, thing: 'clusterId', refuses: 'foreign' },
  // In these tests, no repository or registry is reachable.
  {
    fields: /checkContainerImage body:registry_id$/,
    thing: 'containerRegistryId',
    body: () => ({ image_name: 'cache', tag: '7' }),
    failsAnyway: true,
    refuses: 'foreign',
  },
  {
    fields: /check\w+ body:git_repository\.git_token_id$/,
    thing: 'gitTokenId',
    body: () => ({ ...source, dockerfile_path: 'Dockerfile', files: ['Dockerfile'] }),
    failsAnyway: true,
    refuses: 'foreign',
  },
  {
    fields: /createHelmDefaultValues body:source\.git_repository/,
    thing: 'gitTokenId',
    body: () => ({ source }),
    failsAnyway: true,
    refuses: 'foreign',
  },
  {
    fields: /createHelmDefaultValues body:source\.helm_repository/,
    thing: 'helmRepositoryId',
    body: () => ({ source: { helm_repository: { chart_name: 'redis', chart_version: '1.0.0' } } }),
    failsAnyway: true,
    refuses: 'foreign',
  },
  { fields: /(create|edit)Job body:source\.image\.registry_id$/, thing: 'containerRegistryId', refuses: 'foreign' },
  {
    fields: /(create|edit)Job body:source\.docker\./,
    thing: 'gitTokenId',
    body: () => ({ name: 'job', healthchecks: {}, source: { docker: source }, schedule: { on_start: {} } }),
    refuses: 'foreign',
  },
  {
    fields: /(create|edit)Helm body:source\.helm_repository/,
    thing: 'helmRepositoryId',
    body: () => ({ name: 'chart', source: { helm_repository: { chart_name: 'redis', chart_version: '1.0.0' } } }),
    refuses: 'foreign',
  },
  {
    fields: /(create|edit)Helm body:values_override\.file\.git/,
    thing: 'gitTokenId',
    body: () => ({ name: 'chart', source, values_override: { file: { git: { ...source, paths: ['values.yaml'] } } } }),
    refuses: 'foreign',
  },
  { fields: /body:([\w.]+\.)?git_token_id$/, thing: 'gitTokenId', refuses: 'foreign' },
  { fields: /body:registry_id$/, thing: 'containerRegistryId', refuses: 'foreign' },
];

export const rules: readonly (Harmless | Attempt)[] = [...harmless, ...locations, ...ofOrganization];

export interface NamedField {
  readonly operation: Operation;
  readonly part: 'query' | 'body';
  /** Example: `applications[].application_id`. */
  readonly path: string;
  /** Example: `deployAllServices body:applications[].application_id`. */
  readonly name: string;
  readonly rule: Harmless | Attempt | undefined;
}

interface Shape {
  readonly format?: string;
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly anyOf?: readonly Shape[];
  readonly allOf?: readonly Shape[];
}

const wordsOfPlaces = /(^|_)(id|ids|scope|mode|target|parent|environment|project|cluster|registry|organization|service)$/i;

/** Returns all fields, at any depth, that hold a uuid or have a name like those of places. */
export function namedFields(operations: readonly Operation[]): NamedField[] {
  return operations.flatMap((operation) =>
    (['query', 'body'] as const).flatMap((part) => {
      const paths = new Set(pathsIn(operation[part] ?? {}, ''));
      return [...paths].map((path): NamedField => {
        const name = `${operation.id} ${part}:${path}`;
        return { operation, part, path, name, rule: rules.find(({ fields }) => fields.test(name)) };
      });
    }),
  );
}

function pathsIn(shape: Shape, path: string): string[] {
  const branches = [...(shape.anyOf ?? []), ...(shape.allOf ?? [])].flatMap((one) => pathsIn(one, path));
  const members = Object.entries(shape.properties ?? {}).flatMap(([name, one]) =>
    pathsIn(one, path === '' ? name : `${path}.${name}`),
  );
  const items = shape.items === undefined ? [] : pathsIn(shape.items, `${path}[]`);
  const inside = [...branches, ...members, ...items];
  if (inside.length > 0) return inside;
  const last = path.split('.').at(-1)?.replace('[]', '') ?? '';
  const isLeaf = shape.properties === undefined && shape.anyOf === undefined;
  const isNamed = shape.format === 'uuid' || (isLeaf && (wordsOfPlaces.test(last) || /Ids?$/.test(last)));
  return isNamed ? [path] : [];
}

/** Returns the body with another value at a path. Lists on the path have one element. */
export function withValue(body: unknown, path: string, value: unknown): unknown {
  if (path === '') return value;
  if (path.startsWith('[]'))
    return [withValue(Array.isArray(body) ? body[0] : undefined, path.slice(2).replace(/^\./, ''), value)];
  const [name = ''] = path.split(/\.|\[/);
  const members: Readonly<Record<string, unknown>> = typeof body === 'object' && body !== null ? { ...body } : {};
  return { ...members, [name]: withValue(members[name], path.slice(name.length).replace(/^\./, ''), value) };
}
