import { execFileSync, execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { escapeIdentifier, Client as DatabaseClient } from 'pg';
import { createClient, type Client } from '../../packages/client/src/index.ts';
import { findProgram } from '../../packages/drivers/src/index.ts';
import { call, closeApi, find, openApi, type Api } from '../../packages/drivers/src/kubernetes/client/api.ts';
import { list } from '../../packages/drivers/src/kubernetes/client/follow.ts';
import { readKubeconfig } from '../../packages/drivers/src/kubernetes/client/kubeconfig.ts';
import { pathOf } from '../../packages/drivers/src/kubernetes/client/objects.ts';
import type { TestCluster } from '../../packages/drivers/src/kubernetes/testing/cluster.ts';
import { chartFolder } from '../../packages/drivers/src/kubernetes/testing/manifests-of-davit.ts';
import { noteScaleTargets } from '../../packages/drivers/src/kubernetes/testing/scale-target.ts';
import { eventually } from './eventually.ts';
import { isAnswered } from './is-answered.ts';

const signal = new AbortController().signal;

/**
 * Returns what an installation of Davit on a test cluster needs.
 * `missing`: why Davit cannot be installed; null if it can.
 * `former`: the previous version, if the test has one.
 */
export function installationParts(cluster: TestCluster) {
  const { DAVIT_TEST_KUBERNETES_DAVIT_IMAGE: image = '', DAVIT_TEST_KUBERNETES_DATABASE: server = '' } = process.env;
  const { DAVIT_TEST_KUBERNETES_FORMER_DAVIT_IMAGE: formerImage = image } = process.env;
  const { DAVIT_TEST_KUBERNETES_FORMER_DAVIT_CHART: formerChart = chartFolder } = process.env;
  const former = { image: formerImage, chart: formerChart };
  const helm = findProgram('helm') ?? '';
  const missing =
    cluster.missing ??
    (image === ''
      ? 'DAVIT_TEST_KUBERNETES_DAVIT_IMAGE names no image of Davit'
      : server === ''
        ? 'DAVIT_TEST_KUBERNETES_DATABASE names no PostgreSQL that pods reach'
        : helm === ''
          ? 'there is no helm in PATH'
          : null);
  return { missing, image, former, server, helm };
}

interface Named {
  readonly metadata?: { readonly name?: string };
}

/** Davit as installed by its chart, with two processes of each role, in its own namespace and with its own database. */
export class Installation {
  readonly namespace = `davit-test-${randomUUID().slice(0, 8)}`;
  readonly #parts: ReturnType<typeof installationParts>;
  readonly #api: Api;
  readonly #token = randomBytes(24).toString('hex');
  readonly #database = `davit_test_${randomUUID().replaceAll('-', '')}`;
  #address = '';
  /** The installed version. */
  #version: { readonly image: string; readonly chart: string };
  #forget: (() => Promise<void>) | undefined;

  constructor(cluster: TestCluster) {
    this.#parts = installationParts(cluster);
    this.#version = this.#parts.former;
    this.#api = openApi(readKubeconfig(cluster.kubeconfig));
  }

  get client(): Client {
    return createClient({ baseUrl: this.#address, token: this.#token });
  }

  /** The address of the Service, and the headers that each request needs. */
  get door() {
    return { address: this.#address, headers: { authorization: `Token ${this.#token}` } };
  }

  /** Creates the namespace, secret, database and release, and waits until all are ready. */
  async install(): Promise<void> {
    // The chart installs the CustomResourceDefinition of scale targets, which Helm never deletes.
    this.#forget = await noteScaleTargets(this.#api);
    await this.#inDatabase((client) => client.query(`CREATE DATABASE ${escapeIdentifier(this.#database)}`));
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await this.#make(pathOf('Namespace'), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: this.namespace, labels } });
    const url = new URL(this.#parts.server);
    url.pathname = `/${this.#database}`;
    const stringData = {
      'database-url': url.href,
      'secret-key': randomBytes(32).toString('base64'),
      'bootstrap-token': this.#token,
    };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'davit' }, stringData };
    await this.#make(pathOf('Secret', { namespace: this.namespace }), secret);
    await this.upgrade({});
    const service = await find<{ spec?: { clusterIP?: string; ports?: readonly { port: number }[] } }>(
      this.#api,
      pathOf('Service', { namespace: this.namespace, name: 'davit' }),
      signal,
    );
    this.#address = `http://${service?.spec?.clusterIP}:${service?.spec?.ports?.[0]?.port}`;
    // The proxies of nodes learn of a Service a moment after its pods are ready.
    await eventually(() => isAnswered(`${this.#address}/healthz`), 'the first answer');
  }

  /**
   * Upgrades from the previous version to this one if the test has an image of the previous version, otherwise from
   * this version to itself.
   */
  async upgradeVersion(values: object): Promise<void> {
    this.#version = { image: this.#parts.image, chart: chartFolder };
    await this.upgrade({ ...values, podAnnotations: { turn: 'second' } });
  }

  /**
   * Installs or upgrades the release with these values in addition to those of the test. Resolves when all pods have
   * the new values and are ready, and the former pods are gone.
   */
  async upgrade(values: object): Promise<void> {
    const { helm } = this.#parts;
    const former = await this.#allPods();
    const [, repository = '', tag = ''] = /^(.+):([^:/]+)$/.exec(this.#version.image) ?? [];
    const small = { resources: { requests: { cpu: '10m', memory: '128Mi' } } };
    const own = {
      image: { repository, tag },
      api: small,
      worker: small,
      backups: { ephemeral: true },
      inCluster: true,
      settings: {
        DAVIT_ALLOW_HTTP_REGISTRIES: true,
        DAVIT_ALLOW_PRIVATE_TARGETS: true,
        DAVIT_ALLOW_PRIVATE_REPOSITORIES: true,
        DAVIT_RATE_LIMIT: 0,
        DAVIT_TERMINATION_GRACE_SECONDS: 2,
        DAVIT_DRAIN_SECONDS: 2,
      },
      ...values,
    };
    const args = ['upgrade', 'davit', this.#version.chart, '--install', '--namespace', this.namespace, '--values', '-'];
    const running = promisify(execFile)(helm, [...args, '--wait', '--timeout', '170s']);
    running.child.stdin?.end(JSON.stringify(own));
    await running;
    // The former pods continue to respond on kept connections for a while, with their former values.
    const areGone = async () => ((await this.#allPods()).some((name) => former.includes(name)) ? undefined : true);
    await eventually(areGone, 'the pods of before to go');
  }

  async #allPods(): Promise<string[]> {
    return [...(await this.pods('api')), ...(await this.pods('worker'))];
  }

  /** Returns the names of the pods of a role, including pods that are terminating. */
  async pods(role: 'api' | 'worker'): Promise<string[]> {
    const labelSelector = `app.kubernetes.io/component=${role}`;
    const path = pathOf('Pod', { namespace: this.namespace });
    const { items } = await list<Named>(this.#api, { path, query: { labelSelector } }, signal);
    return items.flatMap(({ metadata }) => metadata?.name ?? []);
  }

  /** Returns the logs of the pods of a role. */
  async logs(role: 'api' | 'worker'): Promise<string> {
    const texts = (await this.pods(role)).map(async (name) => {
      const path = `${pathOf('Pod', { namespace: this.namespace, name })}/log`;
      return String(
        (await call(this.#api, { method: 'GET', path, query: { container: 'davit' }, signal, accept: [400, 404] })).body,
      );
    });
    return (await Promise.all(texts)).join('\n');
  }

  /** Removes the whole installation. Environments must be deleted before. */
  async remove(): Promise<void> {
    try {
      execFileSync(this.#parts.helm, ['uninstall', 'davit', '--namespace', this.namespace, '--ignore-not-found'], {
        stdio: 'pipe',
      });
    } finally {
      const path = pathOf('Namespace', { name: this.namespace });
      await call(this.#api, { method: 'DELETE', path, signal, accept: [404] });
      await this.#forget?.();
      closeApi(this.#api);
      await this.#inDatabase((client) =>
        client.query(`DROP DATABASE IF EXISTS ${escapeIdentifier(this.#database)} WITH (FORCE)`),
      );
    }
  }

  async #make(path: string, body: object): Promise<void> {
    await call(this.#api, { method: 'POST', path, body, signal });
  }

  async #inDatabase(act: (client: DatabaseClient) => Promise<unknown>): Promise<void> {
    const client = new DatabaseClient({ connectionString: this.#parts.server });
    await client.connect();
    try {
      await act(client);
    } finally {
      await client.end();
    }
  }
}
