import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CallInput } from '../../packages/client/src/index.ts';
import { call, closeApi, find, openApi, type Api } from '../../packages/drivers/src/kubernetes/client/api.ts';
import { readRevisions } from '../../packages/drivers/src/kubernetes/charts/revisions.ts';
import { list } from '../../packages/drivers/src/kubernetes/client/follow.ts';
import { readKubeconfig, type ClusterAccess } from '../../packages/drivers/src/kubernetes/client/kubeconfig.ts';
import { namespaceName, serviceObjectName } from '../../packages/drivers/src/kubernetes/names/names.ts';
import { pathOf } from '../../packages/drivers/src/kubernetes/client/objects.ts';
import type { TestCluster } from '../../packages/drivers/src/kubernetes/testing/cluster.ts';
import type { TestRegistry } from '../../packages/testkit/src/registry.ts';
import { Davit } from './davit.ts';
import { eventually } from './eventually.ts';
import { installationOf } from './installation-id.ts';

const signal = new AbortController().signal;

type ContainerFields = Partial<CallInput<'createContainer'>['body']>;

interface Named {
  readonly metadata?: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> };
}

interface IngressObject {
  readonly metadata?: object;
  readonly spec?: { readonly rules?: readonly object[] };
}

/** The kinds of objects that Davit creates in the namespace of an environment. */
export const madeKinds = [
  'Deployment',
  'StatefulSet',
  'Job',
  'CronJob',
  'Pod',
  'Secret',
  'Service',
  'Ingress',
  'PersistentVolumeClaim',
  'PodDisruptionBudget',
] as const;

/** Splits an image reference into registry, name and tag. */
function partsOf(reference: string): { readonly host: string; readonly name: string; readonly tag: string } {
  const [, host = '', name = '', tag = ''] = /^([^/]+)\/(.+):([^:/]+)$/.exec(reference) ?? [];
  return { host, name, tag };
}

export interface KubernetesStageOptions {
  /** The socket of a container engine that builds images. Without it, Davit has no container engine. */
  readonly socketPath?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Returns the settings of the cluster in addition to its address, once the records of the stage exist. */
  readonly settings?: (setup: KubernetesSetup) => Promise<object>;
  /** The kubeconfig that Davit receives instead of the kubeconfig of the tests. */
  readonly kubeconfig?: string;
}

/** Returns a kubeconfig with this access. */
export function kubeconfigOf({ server, serverName, authority, token, certificate, key }: ClusterAccess): string {
  const data = (name: string, text: string | undefined) =>
    text === undefined ? {} : { [name]: Buffer.from(text).toString('base64') };
  const cluster = {
    server,
    ...(serverName !== undefined && { 'tls-server-name': serverName }),
    ...data('certificate-authority-data', authority),
  };
  const user = {
    ...(token !== undefined && { token }),
    ...data('client-certificate-data', certificate),
    ...data('client-key-data', key),
  };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
  });
}

/**
 * A Davit with the kubeconfig of a Kubernetes cluster, and an environment on that cluster. Davit has a container engine
 * only if the options name one.
 */
export class KubernetesSetup {
  readonly davit: Davit;
  readonly image: ReturnType<typeof partsOf>;
  /** The kubeconfig that Davit receives: that of the tests, or of an account with fewer permissions. */
  readonly kubeconfig: string;
  readonly #folder: string;
  readonly #api: Api;
  organizationId = '';
  clusterId = '';
  registryId = '';
  environmentId = '';
  installation = '';

  private constructor(davit: Davit, cluster: TestCluster, { folder, kubeconfig }: { folder: string; kubeconfig?: string }) {
    this.davit = davit;
    this.image = partsOf(cluster.image);
    const { DAVIT_TEST_KUBERNETES_ACCESS: given } = process.env;
    this.kubeconfig = kubeconfig ?? (given === undefined ? cluster.kubeconfig : readFileSync(given, 'utf8'));
    this.#folder = folder;
    this.#api = openApi(readKubeconfig(cluster.kubeconfig));
  }

  static async open(cluster: TestCluster, options: KubernetesStageOptions = {}): Promise<KubernetesSetup> {
    const folder = mkdtempSync(join(tmpdir(), 'davit-e2e-settings-'));
    const file = join(folder, 'clusters.json');
    const forAll = { helper_image: cluster.image, linger_seconds: 1 };
    writeFileSync(file, JSON.stringify({ '*': forAll }));
    const davit = await Davit.start({
      socketPath: options.socketPath ?? join(folder, 'no-engine.sock'),
      environment: {
        DAVIT_CLUSTER_SETTINGS: file,
        DAVIT_ALLOW_HTTP_REGISTRIES: 'true',
        DAVIT_ALLOW_PRIVATE_TARGETS: 'true',
        DAVIT_METRICS_SECONDS: '5',
        ...options.environment,
      },
    });
    const setup = new KubernetesSetup(davit, cluster, {
      folder,
      ...(options.kubeconfig !== undefined && { kubeconfig: options.kubeconfig }),
    });
    await setup.#make();
    // The settings of a single cluster need its id.
    const own = { address: 'http://apps.example.org:8080', ...(await options.settings?.(setup)) };
    writeFileSync(file, JSON.stringify({ '*': forAll, [setup.clusterId]: own }));
    await davit.kill('SIGTERM');
    await davit.serve();
    return setup;
  }

  async #make(): Promise<void> {
    const { client, database } = this.davit;
    this.installation = await installationOf(database.database);
    this.organizationId = (await client.call('createOrganization', { body: { name: 'Shipyard' } })).id;
    const params = { organizationId: this.organizationId };
    const body = { name: 'rack', region: 'basement', cloud_provider: 'ON_PREMISE' } as const;
    this.clusterId = (await client.call('createCluster', { params, body })).id;
    const { host } = this.image;
    const url = `${/^(127\.|localhost)/.test(host) ? 'http' : 'https'}://${host}`;
    const registry = { name: 'own', kind: 'GENERIC_CR', url, config: {} } as const;
    this.registryId = (await client.call('createContainerRegistry', { params, body: registry })).id;
    const project = await client.call('createProject', { params, body: { name: 'Dock' } });
    const environment = { name: 'live', cluster_id: this.clusterId };
    const made = await client.call('createEnvironment', { params: { projectId: project.id }, body: environment });
    this.environmentId = made.id;
  }

  /** Creates the record of the registry to which Davit pushes built images. Returns the id of the record. */
  async imageRegistry({ url, username, password }: TestRegistry): Promise<string> {
    const { organizationId } = this;
    const body = { name: 'built', kind: 'GENERIC_CR' as const, url, config: { username, password } };
    return (await this.davit.client.call('createContainerRegistry', { params: { organizationId }, body })).id;
  }

  get ids() {
    return { organizationId: this.organizationId, clusterId: this.clusterId };
  }

  /** Returns a kubeconfig for the same server with only this token. */
  kubeconfigWith(token: string): string {
    const { server, authority } = readKubeconfig(this.kubeconfig);
    return kubeconfigOf({ server, isUnchecked: false, token, ...(authority !== undefined && { authority }) });
  }

  async container(name: string, script: string, fields: ContainerFields = {}): Promise<{ containerId: string }> {
    const { environmentId, registryId, image } = this;
    const made = await this.davit.client.call('createContainer', {
      params: { environmentId },
      body: {
        name,
        registry_id: registryId,
        image_name: image.name,
        tag: image.tag,
        entrypoint: '/bin/sh',
        arguments: ['-c', script],
        cpu: 50,
        memory: 64,
        healthchecks: {},
        ...fields,
      },
    });
    return { containerId: made.id };
  }

  async deploy(params: { containerId: string }, body: { image_tag?: string; release_id?: string } = {}) {
    return this.ended(params, () => this.davit.client.call('deployContainer', { params, body }));
  }

  /** Runs an action that deploys the container, and waits for the end of the deployment. */
  async ended(params: { containerId: string }, act: () => Promise<unknown>) {
    const { client } = this.davit;
    const latest = async () =>
      (await client.call('listContainerDeploymentHistoryV2', { params })).results[0]?.identifier.execution_id;
    const before = await latest();
    await act();
    await this.idleAfter(async () => (await latest()) !== before);
    return client.call('getContainerStatus', { params });
  }

  async idleAfter(happened: () => Promise<boolean>, environmentId = this.environmentId): Promise<void> {
    const { davit } = this;
    const params = { environmentId };
    const isIdle = async (): Promise<boolean> => {
      const { results } = await davit.client.call('listEnvironmentDeploymentHistoryV2', { params });
      const waiting = await davit.client.call('listDeploymentRequestByEnvironmentId', { params });
      const under = ['ONGOING', 'CANCELING', 'QUEUED'];
      return waiting.results.length === 0 && results.every((one) => !under.includes(one.action_status));
    };
    try {
      await eventually(async () => ((await happened()) && (await isIdle()) ? true : undefined), 'the end', 120_000);
    } catch (error) {
      throw new Error(`${await this.log()}\n${davit.output.split('\n').slice(-20).join('\n')}`, { cause: error });
    }
  }

  async log(): Promise<string> {
    const params = { environmentId: this.environmentId };
    const lines = await this.davit.client.call('listEnvironmentLogs', { params });
    return lines.map((line) => line.error?.user_log_message ?? line.message?.safe_message ?? '').join('\n');
  }

  get namespace(): string {
    return this.namespaceOf(this.environmentId);
  }

  namespaceOf(environmentId: string): string {
    return namespaceName(this.installation, environmentId);
  }

  /** Returns the cluster IP of the Service object of a service. */
  async addressOf(service: string): Promise<string> {
    const path = pathOf('Service', { namespace: this.namespace, name: this.objectName(service) });
    const found = await find<{ readonly spec?: { readonly clusterIP?: string } }>(this.#api, path, signal);
    return found?.spec?.clusterIP ?? '';
  }

  /** Runs an action that deploys the environment, and waits for the end of the deployment. */
  async settled(act: () => Promise<unknown>, environmentId = this.environmentId): Promise<void> {
    const newest = async () => {
      const params = { environmentId };
      const { results } = await this.davit.client.call('listEnvironmentDeploymentHistoryV2', { params });
      return results[0]?.identifier.execution_id;
    };
    const before = await newest();
    await act();
    await this.idleAfter(async () => (await newest()) !== before, environmentId);
  }

  /** Returns the page of a service inside the cluster, through the proxy of the API server. */
  async served({ containerId: service }: { containerId: string }, port = 8080): Promise<string> {
    return this.requested(service, `:${port}/proxy/index.html`);
  }

  /** Like `served`, for any service, port and path: `:8080/proxy/index.html`. */
  async requested(service: string, where: string, namespace = this.namespace): Promise<string> {
    return this.answered(this.objectName(service), where, namespace);
  }

  /** Like `asked`, for a Service by its name. */
  async answered(name: string, where: string, namespace = this.namespace): Promise<string> {
    const path = `${pathOf('Service', { namespace, name })}${where}`;
    const { body, status } = await call(this.#api, { method: 'GET', path, signal, accept: [404, 502, 503] });
    return status === 200 ? (typeof body === 'string' ? body.trim() : JSON.stringify(body)) : `status ${status}`;
  }

  /** Waits until `served` returns this text. */
  async serves(params: { containerId: string }, text: string): Promise<void> {
    let last = '';
    const isIt = async (): Promise<true | undefined> => {
      last = await this.served(params);
      return last === text ? true : undefined;
    };
    await eventually(isIt, `"${text}"`, 30_000).catch((error: unknown) => {
      throw new Error(`it serves "${last}", not "${text}"`, { cause: error });
    });
  }

  /** Returns the names of all Davit objects of a kind, for one service or the whole environment. */
  async names(kind: (typeof madeKinds)[number], service?: string, namespace = this.namespace): Promise<string[]> {
    const labelSelector = `davit.installation=${this.installation}${service === undefined ? '' : `,davit.service=${service}`}`;
    const path = pathOf(kind, { namespace });
    const { items } = await list<Named>(this.#api, { path, query: { labelSelector } }, signal);
    return items.map(({ metadata }) => metadata?.name ?? '');
  }

  /** Returns the Ingress of a service; null if there is none. */
  async ingress(service: string) {
    return find<IngressObject>(
      this.#api,
      pathOf('Ingress', { namespace: this.namespace, name: this.objectName(service) }),
      signal,
    );
  }

  /** Returns the name of objects that exist once per service. */
  objectName(service: string): string {
    return serviceObjectName({ installation: this.installation, service });
  }

  /** Returns the names of all objects of a kind in the namespace, including objects that Davit did not create. */
  async allNames(kind: string): Promise<string[]> {
    const { items } = await list<Named>(this.#api, { path: pathOf(kind, { namespace: this.namespace }), query: {} }, signal);
    return items.map(({ metadata }) => metadata?.name ?? '');
  }

  /** Returns the revisions that Helm stores of a release, oldest first. */
  async revisionsOf(release: string): Promise<readonly { readonly status: string }[]> {
    const owner = {
      installation: this.installation,
      organization: '',
      project: '',
      environment: this.environmentId,
      service: '',
    };
    return readRevisions({ api: this.#api, installation: this.installation }, { owner, release }, signal);
  }

  async hasNamespace(): Promise<boolean> {
    return (await find(this.#api, pathOf('Namespace', { name: this.namespace }), signal)) !== null;
  }

  /** Deletes an object without Davit, as another user of the cluster would. */
  async takeAway(kind: (typeof madeKinds)[number], name: string): Promise<void> {
    await call(this.#api, { method: 'DELETE', path: pathOf(kind, { namespace: this.namespace, name }), signal });
  }

  async close(): Promise<void> {
    await this.davit.kill('SIGTERM');
    // A failed test leaves the namespace behind.
    const path = pathOf('Namespace', { name: this.namespace });
    if (this.environmentId !== '') await call(this.#api, { method: 'DELETE', path, signal, accept: [404] });
    closeApi(this.#api);
    await this.davit.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
