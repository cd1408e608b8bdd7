import { readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import type { Behaviour, ConformanceSubject } from '../../conformance/index.ts';
import type { Instance, LogLine, Workload } from '../../workload.ts';
import { closeApi, find, openApi } from '../client/api.ts';
import { readKubeconfig } from '../client/kubeconfig.ts';
import { openKubernetesDriver, type KubernetesDriver } from '../index.ts';
import { defaultSettings, type BuildSettings, type ClusterSettings } from '../manifests/settings.ts';

/** A cluster for tests. */
export interface TestCluster {
  /** Why there is no cluster, or null if there is one. */
  readonly missing: string | null;
  /** Text of the kubeconfig of the cluster. */
  readonly kubeconfig: string;
  /** Reference of an image with busybox: `sh`, `httpd`, `tar`, `cat`, `wget`. */
  readonly image: string;
}

/**
 * Returns the cluster of KUBECONFIG. Only `npm run test:kubernetes` uses it: a kubeconfig in a developer's environment
 * is no permission to create objects on that cluster.
 */
export function testCluster(): TestCluster {
  const {
    DAVIT_TEST_KUBERNETES,
    KUBECONFIG,
    DAVIT_TEST_KUBERNETES_IMAGE: image = 'docker.io/library/busybox:1.37',
  } = process.env;
  const [file = ''] = (KUBECONFIG ?? '').split(delimiter);
  const isAsked = DAVIT_TEST_KUBERNETES === 'true';
  const missing = !isAsked ? 'npm run test:kubernetes runs these' : file === '' ? 'KUBECONFIG names no cluster' : null;
  return { missing, image, kubeconfig: missing === null ? readFileSync(file, 'utf8') : '' };
}

/**
 * Returns how images are built on the test cluster. DAVIT_TEST_KUBERNETES_BUILDER_IMAGE and
 * DAVIT_TEST_KUBERNETES_BUILD_ISOLATION are for nodes that have no BuildKit of its makers, or no user namespaces.
 */
export function testBuilds(): BuildSettings {
  const { DAVIT_TEST_KUBERNETES_BUILDER_IMAGE: image = null, DAVIT_TEST_KUBERNETES_BUILD_ISOLATION: wanted } = process.env;
  const isolation = wanted === 'user_namespace' || wanted === 'privileged' ? wanted : 'rootless';
  return { ...defaultSettings.builds, image, isolation };
}

const greeting = 'echo hello; echo careful >&2';

function serving(port: number): string {
  return `${greeting}; mkdir -p /www; echo fine >/www/index.html; trap 'exit 0' TERM; httpd -f -p ${port} -h /www & wait`;
}

const scripts: Readonly<Record<Behaviour, string>> = {
  SERVES: serving(8080),
  SERVES_ELSEWHERE: serving(9090),
  EXITS: `${greeting}; exit 3`,
};

export const shell = (script: string) => ({ entrypoint: ['/bin/sh', '-c'], arguments: [script] });

export function openTestDriver(
  { kubeconfig, image }: TestCluster,
  installation: string,
  settings: Partial<ClusterSettings> = {},
): Promise<KubernetesDriver> {
  const input = { kubeconfig, installation, settings: { helperImage: image, lingerSeconds: 1, ...settings } };
  return openKubernetesDriver(input, new AbortController().signal);
}

export interface Ran {
  readonly instance: Instance;
  /** Output of the process. */
  readonly output: string;
}

/** Starts a workload that runs once and waits for its end. */
export async function ranOnce(driver: KubernetesDriver, job: Workload): Promise<Ran> {
  const { signal } = new AbortController();
  await driver.start(job, { signal, log: () => undefined });
  const lines: LogLine[] = [];
  for (;;) {
    const [instance] = await driver.observe({ rollout: job.rollout }, signal);
    if (instance?.state === 'EXITED') {
      await driver.followLogs(instance.id, null, (line) => void lines.push(line), signal);
      return { instance, output: lines.map(({ text }) => text).join('\n') };
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export function subjectOf(cluster: TestCluster): ConformanceSubject {
  const { image } = cluster;
  return {
    driver: (installation) => openTestDriver(cluster, installation),
    program: (behaviour) => ({ image, ...shell(scripts[behaviour]) }),
    traits: {
      restartsOnFailedLiveness: true,
      mergesStreams: true,
      absentImage: image.replace(/[:@][^/]*$/, ':davit-absent'),
      measures: (signal) => hasMetricsServer(cluster, signal),
    },
  };
}

async function hasMetricsServer({ kubeconfig }: TestCluster, signal: AbortSignal): Promise<boolean> {
  const api = openApi(readKubeconfig(kubeconfig));
  try {
    return (await find(api, '/apis/metrics.k8s.io/v1beta1', signal)) !== null;
  } finally {
    closeApi(api);
  }
}
