import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, closeApi, find, openApi, type Api } from '../packages/drivers/src/kubernetes/client/api.ts';
import { readKubeconfig } from '../packages/drivers/src/kubernetes/client/kubeconfig.ts';
import { pathOf } from '../packages/drivers/src/kubernetes/client/objects.ts';
import { testCluster } from '../packages/drivers/src/kubernetes/testing/cluster.ts';
import {
  defineScaleTargets,
  isServed,
  noteScaleTargets,
  writeScale,
} from '../packages/drivers/src/kubernetes/testing/scale-target.ts';
import { eventually } from './support/eventually.ts';
import { isAnswered } from './support/is-answered.ts';
import { KubernetesSetup } from './support/kubernetes-setup.ts';

/*
 * The number of instances where the cluster decides: through its own HorizontalPodAutoscaler, and through a writer that
 * sets the number as KEDA does.
 */

const cluster = testCluster();
const signal = new AbortController().signal;
const serving = `chmod +x /www/cgi-bin/*; echo fine >/www/index.html; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait`;
/** Each request to `/cgi-bin/burn` takes some milliseconds of processor time. */
const burning = String.raw`mkdir -p /www/cgi-bin
cat >/www/cgi-bin/burn <<'END'
#!/bin/sh
i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done
printf 'Content-type: text/plain\r\n\r\ndone'
END
${serving}`;
/** A script that returns the number of waiting jobs to clients that send the key. Any client may set the number. */
const counting = String.raw`mkdir -p /www/cgi-bin; echo 5 >/tmp/jobs
cat >/www/cgi-bin/jobs <<'END'
#!/bin/sh
printf 'Content-type: application/json\r\n\r\n'
case "$QUERY_STRING" in
*canary-of-events*) echo "{\"jobs\": $(cat /tmp/jobs)}" ;;
*) echo '{}' ;;
esac
END
cat >/www/cgi-bin/set <<'END'
#!/bin/sh
echo "$QUERY_STRING" >/tmp/jobs
printf 'Content-type: text/plain\r\n\r\nset'
END
${serving}`;
const ports = [{ internal_port: 8080, publicly_accessible: false, protocol: 'HTTP' as const }];

interface ScaleTarget {
  readonly spec: { readonly replicas: number };
  readonly status?: { readonly replicas: number };
}

/** Clients that send requests over new connections, a few at a time, until `end` is called. */
class Load {
  readonly failures: string[] = [];
  succeeded = 0;
  readonly #host: string;
  readonly #clients: Promise<void>[] = [];
  #isOver = false;
  #path = '/cgi-bin/burn';
  #pauseMilliseconds = 20;

  constructor(host: string, clients: number) {
    this.#host = host;
    for (let index = 0; index < clients; index += 1) this.#clients.push(this.#ask());
  }

  async #ask(): Promise<void> {
    while (!this.#isOver) {
      await this.#once().then(
        () => (this.succeeded += 1),
        (error: unknown) => this.failures.push(`${new Date().toISOString()} ${String(error)}`),
      );
      await pause(this.#pauseMilliseconds);
    }
  }

  #once(): Promise<void> {
    return new Promise((resolve, reject) => {
      const requested = request({ host: this.#host, port: 8080, path: this.#path, agent: false, timeout: 30_000 }, (response) => {
        response.resume();
        response.once('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`status ${response.statusCode}`)),
        );
        response.once('error', reject);
      });
      requested.once('timeout', () => requested.destroy(new Error('no answer within 30 s')));
      requested.once('error', reject);
      requested.end();
    });
  }

  /** Reduces the load: fewer requests, to a page that costs almost no processor time. */
  calm(): void {
    this.#path = '/index.html';
    this.#pauseMilliseconds = 300;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }
}

describe.skipIf(cluster.missing !== null)(
  `scaling on Kubernetes${cluster.missing === null ? '' : ` (${cluster.missing})`}`,
  () => {
    let setup: KubernetesSetup;
    let api: Api;
    let forget: (() => Promise<void>) | undefined;
    beforeAll(async () => {
      api = openApi(readKubeconfig(cluster.kubeconfig));
      forget = await noteScaleTargets(api);
      await defineScaleTargets(api);
      setup = await KubernetesSetup.open(cluster, {
        environment: { DAVIT_SCALE_DOWN_SECONDS: '10', DAVIT_METRICS_SECONDS: '15' },
        // On a busy machine, proxies learn late of removed endpoints.
        settings: () => Promise.resolve({ linger_seconds: 5 }),
      });
      await setup.davit.client.call('editClusterKubeconfig', { params: setup.ids, body: setup.kubeconfig });
      await setup.davit.client.call('deployCluster', { params: setup.ids });
    });
    afterAll(async () => {
      await setup?.close();
      await forget?.();
      closeApi(api);
    });

    const path = (kind: string, { containerId }: { containerId: string }): string =>
      pathOf(kind, { namespace: setup.namespace, name: setup.objectName(containerId) });
    const has = async (kind: string, one: { containerId: string }): Promise<boolean> =>
      (await call(api, { method: 'GET', path: path(kind, one), signal, accept: [404] })).status === 200;
    const numbers = async (one: { containerId: string }): Promise<string> => {
      await pause(200);
      const status = await setup.davit.client.call('getContainerStatus', { params: one }).catch(() => null);
      const pods = (await setup.names('Pod', one.containerId)).length;
      const target = await find<ScaleTarget>(api, path('ScaleTarget', one), signal);
      return `${target?.spec.replicas} asked for, ${status?.wanted_instances} wanted, ${pods} pods, ${status?.running_instances} running, ${target?.status?.replicas} told`;
    };
    const runs = async (one: { containerId: string }, count: number, seconds = 120): Promise<void> => {
      const wanted = `${count} asked for, ${count} wanted, ${count} pods, ${count} running, ${count} told`;
      let last = '';
      const isSo = async (): Promise<true | undefined> => ((last = await numbers(one)) === wanted ? true : undefined);
      await eventually(isSo, wanted, seconds * 1_000).catch((error: unknown) => {
        throw new Error(`${last}\n${setup.davit.output.split('\n').slice(-20).join('\n')}`, { cause: error });
      });
    };

    test('the autoscaler of the cluster adds instances under load and takes them away after it, through a kill of Davit; no request is lost', async (test) => {
      if (!(await isServed(api, '/apis/metrics.k8s.io/v1beta1'))) test.skip('the cluster has no metrics server');
      const web = await setup.container('web', burning, { ports, min_running_instances: 1, max_running_instances: 3 });
      await setup.davit.client.call('editContainerAdvancedSettings', {
        params: web,
        body: { 'hpa.cpu.average_utilization_percent': 30 },
      });
      expect(await setup.deploy(web)).toMatchObject({ state: 'DEPLOYED', failure: null });
      expect(await setup.log()).toContain(
        'From now on the cluster sets the number of instances by the resource usage of its instances',
      );
      await runs(web, 1);
      const address = await setup.addressOf(web.containerId);
      // The proxies of nodes learn of a new Service a moment after its deployment.
      await eventually(() => isAnswered(`http://${address}:8080/cgi-bin/burn`), 'the first answer');
      const load = new Load(address, 4);
      await eventually(
        async () => ((await numbers(web)).startsWith('1 ') ? undefined : true),
        'the autoscaler to ask for more',
        180_000,
      );
      await setup.davit.kill();
      await setup.davit.serve();
      await runs(web, 3, 180);
      load.calm();
      await runs(web, 1, 240);
      await load.end();
      expect(load.failures).toEqual([]);
      expect(load.succeeded).toBeGreaterThan(200);
      const { scaling } = await setup.davit.client.call('getContainerMetrics', { params: web });
      expect(scaling[0]).toMatchObject({ to: 1, reason: expect.stringContaining('HorizontalPodAutoscaler') });
      await setup.ended(web, () => setup.davit.client.call('stopContainer', { params: web }));
      expect([await has('ScaleTarget', web), await has('HorizontalPodAutoscaler', web)]).toEqual([false, false]);
    }, 600_000);

    test('events bring a service to nothing and back; what scales it has the secrets of the service, and goes with it', async (test) => {
      if (!(await isServed(api, '/apis/keda.sh/v1alpha1'))) test.skip('the cluster has no KEDA');
      // If the cluster has the definitions of KEDA without its operator, the test writes the numbers that KEDA would
      // write.
      const operates = await isServed(api, '/apis/external.metrics.k8s.io/v1beta1');
      const { client } = setup.davit;
      const gauge = await setup.container('gauge', counting, { ports });
      expect(await setup.deploy(gauge)).toMatchObject({ state: 'DEPLOYED', failure: null });
      const address = await setup.addressOf(gauge.containerId);
      const worker = await setup.container('worker', burning, {
        ports,
        min_running_instances: 0,
        max_running_instances: 3,
        autoscaling: {
          mode: 'KEDA',
          polling_interval_seconds: 2,
          cooldown_period_seconds: 5,
          scalers: [
            {
              scaler_type: 'metrics-api',
              role: 'PRIMARY',
              config_yaml: `url: http://${address}:8080/cgi-bin/jobs\nvalueLocation: jobs\ntargetValue: 5\nauthMode: apiKey\nmethod: query\nkeyParamName: key`,
              trigger_authentication: { name: 'gauge', config_yaml: 'env: [{parameter: apiKey, name: KEY}]' },
            },
          ],
        },
      });
      await client.call('createContainerSecret', { params: worker, body: { key: 'KEY', value: 'canary-of-events' } });
      const target = path('ScaleTarget', worker);
      /**
       * Sets the number of waiting jobs. Without the operator of KEDA, sets the number of instances that KEDA would
       * set.
       */
      const wait = async (jobs: number, instances: number): Promise<void> => {
        if (!operates) return writeScale(api, target, instances);
        expect(await setup.requested(gauge.containerId, `:8080/proxy/cgi-bin/set?${jobs}`)).toBe('set');
      };
      expect(await setup.deploy(worker)).toMatchObject({ state: 'DEPLOYED', failure: null });
      expect(await has('ScaledObject', worker)).toBe(true);
      expect(await has('HorizontalPodAutoscaler', worker)).toBe(false);
      await wait(0, 0);
      await runs(worker, 0);
      expect(await setup.served(worker)).toBe('status 503');
      await wait(10, 2);
      const requested = async (): Promise<number> => (await find<ScaleTarget>(api, target, signal))?.spec.replicas ?? 0;
      await eventually(async () => ((await requested()) > 0 ? true : undefined), 'a number', 120_000);
      const began = Date.now();
      const pods = async (): Promise<number> => (await setup.names('Pod', worker.containerId)).length;
      await eventually(async () => ((await pods()) > 0 ? true : undefined), 'a pod', 60_000);
      // Davit watches the number: the next measurement would have come later.
      expect(Date.now() - began).toBeLessThan(10_000);
      await runs(worker, 2);
      await setup.serves(worker, 'fine');
      await wait(0, 0);
      await runs(worker, 0, 180);
      expect(await setup.log()).not.toContain('canary');
      expect(setup.davit.output).not.toContain('canary');
      await setup.ended(worker, () => client.call('stopContainer', { params: worker }));
      for (const kind of ['ScaleTarget', 'ScaledObject', 'TriggerAuthentication', 'HorizontalPodAutoscaler'])
        await expect.poll(async () => [kind, await has(kind, worker)]).toEqual([kind, false]);
    }, 600_000);
  },
);
