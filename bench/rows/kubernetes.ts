import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Manifest } from '../../packages/drivers/src/kubernetes/testing/manifests-of-davit.ts';
import { startTestRegistry } from '@davit/testkit/registry';
import { Client } from 'pg';
import { setTimeout as pause } from 'node:timers/promises';
import { alternate } from '../alternate.ts';
import { startDavit, type Davit } from '../davit.ts';
import { applyAndWait, kubectl, objectsOf, rewritten, withGeneration } from '../floors/kubectl.ts';
import type { Place } from '../place.ts';
import { ratioVerdict, type Measurement, type Row } from '../row.ts';
import { ratioOf, toSeries } from '../statistics.ts';
import { BenchApplication, busyboxApplication } from './applications.ts';
import { stepTimes, untilSettled } from './steps.ts';

const target = { atMost: 1.25 };
const environments = 50;
const kinds = ['deployments', 'secrets', 'services', 'ingresses'];

/*
 * Runs only on demand. The row needs KUBECONFIG, `kubectl`, an image with busybox on the cluster
 * (DAVIT_TEST_KUBERNETES_IMAGE), and nodes that reach a registry of this machine on 127.0.0.1.
 */
export const kubernetesRow: Row = {
  name: 'kubernetes',
  about: 'deploy of an unchanged application on Kubernetes, against kubectl apply of the same objects and rollout status',
  run: async (location) => [await one(location, await World.open(location, 'kubernetes'))],
};

export const kubernetesCrowdRow: Row = {
  name: 'kubernetes-crowd',
  about: `the same with ${environments} environments at once`,
  run: async (location) => [await crowd(location, await World.open(location, 'kubernetes-crowd'))],
};

async function one(location: Place, fixture: World): Promise<Measurement> {
  const application = await fixture.application('shop');
  await fixture.deploy([application], 'first');
  const namespace = await fixture.rawNamespace('one');
  const objects = rewritten(await fixture.objectsOf(application), namespace);
  await applyAndWait(objects, namespace);
  const compared = await alternate(location.rounds(15, 4), {
    davit: (round) => fixture.deploy([application], `davit ${round}`),
    floor: async (round) => {
      const milliseconds = await applyAndWait(withGeneration(objects, `floor ${round}`), namespace);
      await fixture.settled();
      return milliseconds;
    },
  });
  const details = {
    steps: await stepTimes(fixture.database),
    objects: objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
  };
  return { what: 'deploy on Kubernetes, unchanged', unit: 'ms', ...compared, ...ratioVerdict(compared.ratio, target), details };
}

// The sides run one after the other: a node accepts 110 pods, and each side needs twice its number of pods during a
// replacement.
async function crowd(location: Place, fixture: World): Promise<Measurement> {
  const applications: BenchApplication[] = [];
  for (let index = 0; index < environments; index += 1) applications.push(await fixture.application(`shop ${index}`));
  await fixture.deploy(applications, 'first');
  const rounds = location.rounds(3, 1);
  const davit: number[] = [];
  for (let round = 0; round < rounds; round += 1) davit.push(await fixture.deploy(applications, `davit ${round}`));
  const details = { steps: await stepTimes(fixture.database) };
  const namespace = await fixture.rawNamespace('crowd');
  const [first] = applications;
  const model = first === undefined ? [] : await fixture.objectsOf(first);
  for (const application of applications) await application.stop();
  await fixture.settled();
  const all: Manifest[] = applications.flatMap((_one, index) => rewritten(model, namespace, `-${index}`));
  await applyAndWait(all, namespace);
  const floor: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    floor.push(await applyAndWait(withGeneration(all, `floor ${round}`), namespace));
    await fixture.settled();
  }
  const series = { davit: toSeries(davit), floor: toSeries(floor) };
  const ratio = ratioOf(series.davit, series.floor);
  const what = `deploy on Kubernetes, ${environments} environments at once`;
  return { what, unit: 'ms', ...series, ratio, ...ratioVerdict(ratio, target), details };
}

/** A Davit server with a cluster, and the objects that kubectl creates for comparison. */
class World {
  readonly database: string;
  readonly #davit: Davit;
  readonly #ids: { readonly project: string; readonly cluster: string };
  readonly #url: string;
  readonly #namespaces: string[] = [];

  private constructor(parts: { davit: Davit; database: string; ids: { project: string; cluster: string }; url: string }) {
    this.#davit = parts.davit;
    this.database = parts.database;
    this.#ids = parts.ids;
    this.#url = parts.url;
  }

  static async open(location: Place, name: string): Promise<World> {
    const [file = ''] = (process.env['KUBECONFIG'] ?? '').split(path.delimiter);
    const image = process.env['DAVIT_TEST_KUBERNETES_IMAGE'];
    if (file === '' || image === undefined) throw new Error('set KUBECONFIG and DAVIT_TEST_KUBERNETES_IMAGE');
    const registry = await startTestRegistry(undefined, { isOpen: true });
    location.onEnd(() => registry.close());
    const database = await location.database(name);
    const settings = path.join(location.newFolder(`${name}-settings`), 'clusters.json');
    writeFileSync(settings, '{}');
    const environment = {
      DAVIT_CLUSTER_SETTINGS: settings,
      DAVIT_ALLOW_HTTP_REGISTRIES: 'true',
      DAVIT_ALLOW_PRIVATE_TARGETS: 'true',
    };
    const first = await startDavit(location, { name, databaseUrl: database, environment });
    const { client } = first;
    const { id: organizationId } = await client.call('createOrganization', { body: { name: 'Kubernetes' } });
    const params = { organizationId };
    const rack = { name: 'rack', region: 'basement', cloud_provider: 'ON_PREMISE' } as const;
    const { id: cluster } = await client.call('createCluster', { params, body: rack });
    const body = { name: 'own', kind: 'GENERIC_CR' as const, url: registry.url, config: {} };
    const { id: registryId } = await client.call('createContainerRegistry', { params, body });
    const { id: project } = await client.call('createProject', { params, body: { name: 'Kubernetes' } });
    const own = { address: 'http://apps.example.org', image_registry: registryId, helper_image: image };
    writeFileSync(settings, JSON.stringify({ [cluster]: own }));
    await first.stop();
    const davit = await startDavit(location, { name, databaseUrl: database, environment });
    const at = { organizationId, clusterId: cluster };
    await davit.client.call('editClusterKubeconfig', { params: at, body: readFileSync(file, 'utf8') });
    const url = (await location.git()).commit(name, busyboxApplication);
    const fixture = new World({ davit, database, ids: { project, cluster }, url });
    // The cleanup also runs if the run is interrupted: the cluster may be shared with others.
    location.onEnd(() => fixture.close());
    return fixture;
  }

  /** The instances are small, so that all of them fit on the nodes. */
  async application(name: string): Promise<BenchApplication> {
    const { project, cluster } = this.#ids;
    const on = { clusterId: cluster, cpu: 10, memory: 32 };
    return BenchApplication.create(this.#davit, { projectId: project, name, url: this.#url, ...on });
  }

  /** Returns the milliseconds from the first request until the last service is DEPLOYED. */
  async deploy(applications: readonly BenchApplication[], generation: string): Promise<number> {
    for (const application of applications) await application.change(generation);
    const began = performance.now();
    await Promise.all(applications.map((application) => application.request()));
    for (const application of applications) await application.untilDeployed();
    const milliseconds = performance.now() - began;
    await untilSettled(this.database);
    await this.settled();
    return milliseconds;
  }

  async objectsOf({ id }: BenchApplication): Promise<Manifest[]> {
    const namespace = await kubectl([
      'get',
      'deployments',
      '-A',
      '-l',
      `davit.service=${id}`,
      '-o',
      'jsonpath={.items[0].metadata.namespace}',
    ]);
    return objectsOf(namespace, kinds, `davit.service=${id}`);
  }

  async rawNamespace(name: string): Promise<string> {
    const namespace = `davit-bench-${name}-${process.pid}`;
    await kubectl(['create', 'namespace', namespace]);
    this.#namespaces.push(namespace);
    return namespace;
  }

  /** Waits until no pod is terminating, as terminating pods would slow down the next measurement. */
  async settled(): Promise<void> {
    for (;;) {
      const pods = await kubectl(['get', 'pods', '-A', '-o', 'jsonpath={.items[*].metadata.deletionTimestamp}']);
      if (pods.trim() === '') return;
      await pause(200);
    }
  }

  async close(): Promise<void> {
    const sql = new Client({ connectionString: this.database });
    await sql.connect();
    const { rows } = await sql.query<{ id: string }>('select id from installation');
    await sql.end();
    await this.#davit.stop();
    if (this.#namespaces.length > 0) await kubectl(['delete', 'namespace', '--wait=true', ...this.#namespaces]);
    for (const { id } of rows) await kubectl(['delete', 'namespace', '--wait=true', '-l', `davit.installation=${id}`]);
  }
}
