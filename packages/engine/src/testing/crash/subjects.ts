import { randomUUID } from 'node:crypto';
import type { FakeTerraform, Instance } from '@davit/drivers';
import { releaseName } from '../../kinds/chart/ref.ts';
import type { JobEvent, ReleaseConfig, RequestedService } from '../../port.ts';
import { config, helmSource, terraformSource } from '../config.ts';
import { service, type TestEngine } from '../test-engine.ts';
import type { SubjectName } from './cases.ts';

/** A kind of service of the crash matrix on the cluster in memory. */
export interface Subject {
  readonly serviceType: string;
  /** Returns the release configuration of a service that shows this text once it is deployed. */
  config(serviceId: string, text: string): ReleaseConfig;
  /** Returns the text that each running part of the service shows; empty if the service has no part on the cluster. */
  shown(serviceId: string): readonly string[];
  /** Number of texts that `shown` returns for a deployed service. */
  readonly parts: number;
  /** Whether the parts that `shown` reports survive a STOP. */
  readonly staysWhenStopped?: true;
  /** Whether the gateway routes requests to the service while it is deployed. */
  readonly isPublic?: true;
  /** Whether the service has a volume. */
  readonly hasVolume?: true;
  /** Whether the service's actions run a command to its end. */
  readonly runs?: true;
}

const image = { type: 'IMAGE', tag: '1', registryId: null } as const;

/** Creates every subject on one world. */
export function makeSubjects(fixture: TestEngine, terraform: FakeTerraform): Readonly<Record<SubjectName, Subject>> {
  const texts = (serviceId: string): readonly string[] =>
    running(fixture, serviceId).map(
      ({ id }) =>
        fixture.fake.workloads
          .get(id)
          ?.environment.find(({ name }) => name === 'TEXT')
          ?.value.reveal() ?? '',
    );
  const process = (serviceType: string, more: (serviceId: string, text: string) => Partial<ReleaseConfig>): Subject => ({
    serviceType,
    config: (serviceId, text) => config({ ...shows(text), ports: [portOf(serviceId)], ...more(serviceId, text) }),
    shown: texts,
    parts: 1,
    isPublic: true,
  });
  const volumes = (serviceId: string) => [{ id: `volume-${serviceId}`, mountPath: '/data', sizeGiB: 1 }];
  return {
    application: process('APPLICATION', (_id, text) => ({ source: repositoryOf(text) })),
    'application with a volume': {
      ...process('APPLICATION', (id, text) => ({ source: repositoryOf(text), volumes: volumes(id) })),
      hasVolume: true,
    },
    container: process('CONTAINER', (_id, text) => ({ source: { ...image, image: `registry.example/${text}` } })),
    'container with three instances': {
      ...process('CONTAINER', (_id, text) => ({ source: { ...image, image: `registry.example/${text}` }, instances: 3 })),
      parts: 3,
    },
    database: {
      ...process('DATABASE', (id) => ({ source: { ...image, image: 'registry.example/redis' }, volumes: volumes(id) })),
      hasVolume: true,
    },
    job: {
      serviceType: 'JOB',
      config: (_id, text) => jobConfig(text, ['START', 'STOP', 'DELETE']),
      shown: () => [],
      parts: 0,
      runs: true,
    },
    'cron job': { serviceType: 'JOB', config: (_id, text) => jobConfig(text, ['CRON']), shown: () => [], parts: 0 },
    terraform: {
      serviceType: 'TERRAFORM',
      config: (_id, text) => {
        const source = terraformSource({ variables: [{ name: 'text', parts: [text] }] });
        return config({ source, ports: [], instances: 0 });
      },
      shown: (serviceId) => [terraform.resources.get(serviceId)?.text].filter((text) => text !== undefined),
      parts: 1,
    },
    chart: {
      serviceType: 'HELM',
      config: (_id, text) => {
        const values = { set: [['text', text] as const], set_string: [], set_json: [], file: null };
        return config({ source: helmSource({ values }), ports: [], instances: 0 });
      },
      shown: (serviceId) =>
        [fixture.charts.live(releaseName(serviceId))?.values.set[0]?.[1]].filter((text) => text !== undefined),
      parts: 1,
      staysWhenStopped: true,
    },
  };
}

const { ports: plainPorts } = config();
const gitSource = {
  type: 'GIT',
  branch: 'main',
  rootPath: '/',
  dockerfilePath: 'Dockerfile',
  targetStage: null,
  gitTokenId: null,
} as const;

const shows = (text: string): Partial<ReleaseConfig> => ({ environment: [{ name: 'TEXT', parts: [text] }] });

/** Returns a different repository for each text, so that each deployment has an image to build. */
function repositoryOf(text: string): ReleaseConfig['source'] {
  return { ...gitSource, url: `https://git.example/shop-${text}` };
}

/** Returns a port that is unique to the service: the gateway rejects two routes with the same id or host. */
function portOf(serviceId: string): ReleaseConfig['ports'][number] {
  const [port] = plainPorts;
  if (port === undefined) throw new Error('the configuration of tests has no port');
  return { ...port, id: routeOf(serviceId), hosts: [`${serviceId}.localhost`] };
}

/** Returns the id of the route of a public service. */
export function routeOf(serviceId: string): string {
  return `port-${serviceId}`;
}

function jobConfig(text: string, events: readonly JobEvent[]): ReleaseConfig {
  return config({
    ...shows(text),
    source: repositoryOf(text),
    ports: [],
    instances: 0,
    job: {
      events: Object.fromEntries(events.map((event) => [event, { entrypoint: [], arguments: [] }])),
      schedule: events.includes('CRON') ? { expression: '0 0 1 1 *', timezone: 'Etc/UTC' } : null,
      maximumRestarts: 0,
      maximumSeconds: null,
    },
  });
}

export function running(fixture: TestEngine, serviceId?: string): readonly Instance[] {
  return fixture.fake.instances.filter(
    (instance) => (serviceId === undefined || instance.service === serviceId) && instance.state === 'RUNNING',
  );
}

/** Returns the request that deploys a service of this kind so that it shows this text. */
export function requestOf(subject: Subject, serviceId: string, text: string): RequestedService {
  return {
    ...service({ serviceType: subject.serviceType, name: 'shop', config: subject.config(serviceId, text) }),
    serviceId,
    stage: { id: stageId, name: 'DEFAULT', position: 1 },
  };
}

const stageId = randomUUID();
