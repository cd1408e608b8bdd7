import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '@davit/base';
import { statement, type Statement } from '@davit/db';
import { createFakeCharts, createFakeCluster, Terraform, type FakeCharts, type FakeCluster } from '@davit/drivers';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { failingDatabase } from '@davit/testkit/failing-database';
import { config } from './config.ts';
import { createEngine, type Engine, type EngineInput, type EngineSettings } from '../index.ts';
import type { ClusterMaker } from '../shared/cluster-drivers.ts';
import type {
  ClusterAccess,
  DeploymentRequest,
  EnvironmentRef,
  ReleaseConfig,
  RequestedService,
  ServiceOutput,
  ServiceView,
} from '../port.ts';

/**
 * An engine over the fake cluster and a database of its own. Data that resources would pass to the engine is kept in
 * memory.
 */
export interface TestEngine {
  readonly database: TestDatabase;
  readonly fake: FakeCluster;
  /** The fake Helm. The cluster has the power `charts` only if a test enables it. */
  readonly charts: FakeCharts;
  /** Charts that were fetched, in order. */
  readonly fetched: { readonly name: string; readonly version: string }[];
  /** Called for each fetch of a chart. Tests may replace the callback at any time. */
  onFetch: (() => Promise<void>) | null;
  readonly engine: Engine;
  readonly secrets: Map<string, string>;
  /** The credentials that each registry requires, by registry id. Default of `hosts`: `registry.example`. */
  readonly registries: Map<string, { readonly username: string; readonly password: string; readonly hosts?: readonly string[] }>;
  /**
   * The digest that the registries return for each `name:tag`; null if the tag does not exist. For tags that are
   * missing here, the registry is unreachable.
   */
  readonly digests: Map<string, string | null>;
  readonly deleted: string[];
  /** The outputs that services reported, by service. */
  readonly outputs: ReadonlyMap<string, readonly ServiceOutput[]>;
  readonly workFolder: string;
  /** The parts of this world's engine, for a test that starts another process beside the first one. */
  readonly input: EngineInput;
  readonly environmentId: string;
  readonly environment: EnvironmentRef;
  /**
   * Stops this engine as a server shutdown does, and starts another engine on the same database and cluster.
   * @param fails Selects the statements that fail as if the database connection were lost in the middle of the
   * statement.
   */
  restart(fails?: (requested: Statement) => boolean): Promise<Engine>;
  deploy(services: readonly RequestedService[], overrides?: Partial<DeploymentRequest>): Promise<string>;
  view(serviceId: string): Promise<ServiceView>;
  /** Waits until the service's state is one of these. */
  reaches(serviceId: string, ...states: readonly string[]): Promise<ServiceView>;
  /** Waits until the deployment has ended and no former instance is left. Returns its outcome. */
  ends(deploymentId: string): Promise<string>;
  /** Waits until the deployment has ended. Former instances may still be ending. Returns its outcome. */
  outcome(deploymentId: string): Promise<string>;
  close(): Promise<void>;
}

/** Clusters beside the fixed one. */
export interface TestClusters {
  readonly list: readonly ClusterAccess[];
  readonly make: ClusterMaker;
  readonly fakes?: readonly FakeCluster[];
}

const endOf = statement<{ status: string }>(
  'test_end_of_deployment',
  `select status from deployment where id = $1 and status not in ('QUEUED', 'RUNNING')`,
);

// oxlint-disable-next-line max-lines-per-function -- one object of parts that belong together
export async function createTestEngine(
  {
    decides = false,
    kinds,
    ...overrides
  }: Partial<EngineSettings> & {
    /** The cluster decides on numbers of instances. */
    decides?: boolean;
    kinds?: EngineInput['kinds'];
  } = {},
  clusters?: TestClusters,
): Promise<TestEngine> {
  const database = await createTestDatabase();
  const fake = createFakeCluster();
  const charts = createFakeCharts();
  const fetched: TestEngine['fetched'] = [];
  let onFetch: TestEngine['onFetch'] = null;
  const workFolder = await mkdtemp(join(tmpdir(), 'davit-engine-'));
  const secrets = new Map<string, string>();
  const registries: TestEngine['registries'] = new Map();
  const digests: TestEngine['digests'] = new Map();
  const deleted: string[] = [];
  const outputs = new Map<string, readonly ServiceOutput[]>();
  const terraform = new Terraform({ TERRAFORM: 'terraform', OPEN_TOFU: null });
  const ref = {
    organizationId: randomUUID(),
    projectId: randomUUID(),
    environmentId: randomUUID(),
    clusterId: randomUUID(),
    driver: 'fake',
  };
  const input: EngineInput = {
    database: database.database,
    connectionString: database.connectionString,
    hooks: {
      secrets: (ids) => Promise.resolve(new Map(ids.flatMap((id) => (secrets.has(id) ? [[id, secrets.get(id) ?? '']] : [])))),
      gitCredentials: () => Promise.resolve(null),
      registryCredentials: (id) => {
        const found = registries.get(id);
        return Promise.resolve(found === undefined ? null : { hosts: ['registry.example', 'registry.example:5000'], ...found });
      },
      imageDigest: async (_registryId, { name, tag }) => {
        const digest = digests.get(`${name}:${tag}`);
        if (digest === undefined) throw new AppError({ code: 'REMOTE_UNREACHABLE', message: 'nobody answers' });
        return digest;
      },
      imageName: (id, name) => Promise.resolve(registries.has(id) ? `registry.example/${name}` : undefined),
      helmChart: async (_repositoryId, chart) => {
        await onFetch?.();
        fetched.push(chart);
        return new Uint8Array();
      },
      isPlainRegistry: (id) => Promise.resolve(registries.has(id)),
      deploymentStarted: () => Promise.resolve(),
      deploymentEnded: () => Promise.resolve(),
      serviceDeleted: (_tx, id) => Promise.resolve(void deleted.push(id)),
      environmentDeleted: (_tx, id) => Promise.resolve(void deleted.push(id)),
      // This replaces the vault: the engine must not find the plain text in the values that it stores.
      seal: (_id, text) => Buffer.from(Buffer.from(text).toString('base64')),
      open: (_id, sealed) => Buffer.from(Buffer.from(sealed).toString(), 'base64').toString(),
      serviceOutputs: (serviceId, reported) => Promise.resolve(void outputs.set(serviceId, reported)),
      ...(clusters !== undefined && { clusters: () => Promise.resolve(clusters.list) }),
    },
    ...(clusters !== undefined && { makeCluster: clusters.make }),
    drivers: {
      fake: {
        cluster: decides ? { ...fake.cluster, scaling: fake.scaling.capability } : fake.cluster,
        builder: fake.builder,
        carrier: fake.carrier,
        source: fake.source,
        gateway: fake.gateway,
        imageStore: fake.imageStore,
      },
    },
    terraform,
    helm: charts.helm,
    ...(kinds !== undefined && { kinds }),
    settings: { ...settings, workFolder, backupFolder: join(workFolder, 'backups'), ...overrides },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  };
  let engine = createEngine(input);
  await engine.start();
  const view = async (serviceId: string): Promise<ServiceView> => {
    const [found] = await engine.port.services(database.database, [serviceId]);
    if (found === undefined) throw new Error('no view');
    return found;
  };
  const outcome = (deploymentId: string): Promise<string> =>
    eventually(async () => (await database.database.maybe(endOf, [deploymentId]))?.status, 'the end of the deployment');
  return {
    database,
    fake,
    charts,
    fetched,
    get onFetch() {
      return onFetch;
    },
    set onFetch(action) {
      onFetch = action;
    },
    get engine() {
      return engine;
    },
    secrets,
    registries,
    digests,
    deleted,
    outputs,
    workFolder,
    input,
    environmentId: ref.environmentId,
    environment: ref,
    restart: async (fails) => {
      await engine.stop();
      engine = createEngine(fails === undefined ? input : { ...input, database: failingDatabase(database.database, fails) });
      await engine.start();
      return engine;
    },
    deploy: async (services, request) => {
      const complete: DeploymentRequest = {
        environment: ref,
        action: 'DEPLOY',
        wholeEnvironment: false,
        trigger: { actor: 'tester', triggeredBy: 'Tester', origin: 'API' },
        services,
        ...request,
      };
      return (await database.database.transaction((tx) => engine.port.request(tx, complete))).deploymentId;
    },
    view,
    reaches: (serviceId, ...states) => reached(() => view(serviceId), states),
    ends: async (deploymentId) => {
      const reached = await outcome(deploymentId);
      for (const one of [fake, ...(clusters?.fakes ?? [])]) await formerGone(one);
      return reached;
    },
    outcome,
    close: async () => {
      await engine.stop();
      await database.drop();
      await rm(workFolder, { recursive: true, force: true });
    },
  };
}

async function reached(view: () => Promise<ServiceView>, states: readonly string[]): Promise<ServiceView> {
  let seen: ServiceView | undefined;
  try {
    return await eventually(
      async () => {
        seen = await view();
        return states.includes(seen.state) ? seen : undefined;
      },
      `state ${states.join(' or ')}`,
    );
  } catch (error) {
    throw new Error(`the service is ${JSON.stringify(seen)}`, { cause: error });
  }
}

export const settings: EngineSettings = {
  workFolder: '',
  installation: 'test',
  builtInPrefix: 'DAVIT_',
  buildCpuMillicores: 1_000,
  buildMemoryMiB: 512,
  maximumBuilds: 4,
  maximumDeployments: 32,
  readyTimeoutSeconds: 5,
  terminationGraceSeconds: 1,
  drainSeconds: 1,
  instanceDiskMiB: 1024,
  volumeLimitPercent: 150,
  logRetentionDays: 7,
  keptReleases: 10,
  clusterWaitSeconds: 60,
  logMiBPerService: 200,
  logLinesPerSecond: 1000,
  metricsSeconds: 3600,
  scaleDownSeconds: 300,
  backupFolder: '',
  backupsAtOnce: 2,
  backupTimeoutSeconds: 60,
  keptBackups: 2,
  lookEveryMilliseconds: 100,
};

/** Waits until no service on the cluster has instances of two rollouts. The runs of jobs are left out. */
export async function formerGone(fake: FakeCluster): Promise<void> {
  const isGone = (): boolean => {
    const lasting = fake.instances.filter(({ id }) => fake.workloads.get(id)?.runsOnce !== true);
    const byService = Map.groupBy(lasting, ({ service: id }) => id);
    return [...byService.values()].every((instances) => new Set(instances.map(({ rollout }) => rollout)).size === 1);
  };
  // An end whose calls fail three times in a row, as when an engine restarts, takes pauses of 1, 2 and 4 seconds.
  await eventually(() => Promise.resolve(isGone() || undefined), 'the end of the former instances', 30_000);
}

/** Waits for a condition for at most thirty seconds, as a keeper looks every ten, or as long as is given. */
export async function eventually<T>(condition: () => Promise<T | undefined>, what: string, milliseconds = 30_000): Promise<T> {
  const until = Date.now() + milliseconds;
  for (;;) {
    const found = await condition();
    if (found !== undefined) return found;
    if (Date.now() > until) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function service(overrides: Partial<RequestedService> & { readonly config?: ReleaseConfig } = {}): RequestedService {
  const { config: wanted, ...rest } = overrides;
  const serviceId = randomUUID();
  const plain = config();
  // The gateway rejects two routes with the same id or address.
  const ports = plain.ports.map((port) => ({ ...port, id: `port-${serviceId}`, hosts: [`${serviceId}.localhost`] }));
  return {
    serviceId,
    serviceType: 'APPLICATION',
    name: 'shop',
    iconUri: 'app://davit-console/application',
    stage: { id: randomUUID(), name: 'APPLICATION DEFAULT', position: 3 },
    release: { config: wanted ?? { ...plain, ports }, commitId: null },
    ...rest,
  };
}
