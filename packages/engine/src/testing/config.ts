import type { Instance } from '@davit/drivers';
import type { HelmReleaseSource, ReleaseConfig, TerraformReleaseSource } from '../model.ts';

/** Returns the configuration of a release with one public port. */
export function config(overrides: Partial<ReleaseConfig> = {}): ReleaseConfig {
  return {
    version: 1,
    name: 'shop',
    source: {
      type: 'GIT',
      url: 'https://git.example/shop',
      branch: 'main',
      rootPath: '/',
      dockerfilePath: 'Dockerfile',
      targetStage: null,
      gitTokenId: null,
    },
    entrypoint: [],
    arguments: [],
    environment: [],
    files: [],
    ports: [
      {
        id: 'port',
        name: 'p3000',
        internalPort: 3000,
        externalPort: null,
        public: true,
        isDefault: true,
        protocol: 'HTTP',
        hosts: ['shop.localhost'],
        pathPrefix: '/',
        pathRewrite: null,
      },
    ],
    volumes: [],
    hostnames: ['shop'],
    cpuMillicores: 500,
    memoryMiB: 128,
    instances: 1,
    readiness: null,
    liveness: null,
    ...overrides,
  };
}

/** Returns the source of a Terraform configuration that is applied. */
export function terraformSource(overrides: Partial<TerraformReleaseSource> = {}): TerraformReleaseSource {
  return {
    type: 'TERRAFORM',
    action: 'APPLY',
    git: { url: 'https://git.example/infra', branch: 'main', rootPath: '/', gitTokenId: null },
    engine: 'TERRAFORM',
    version: null,
    backend: { kubernetes: {} },
    variableFiles: [],
    variables: [],
    extraArguments: {},
    timeoutSeconds: 600,
    storageGiB: 1,
    hasFragment: false,
    ...overrides,
  };
}

/** Returns the source of a chart from a Helm repository. */
export function helmSource(overrides: Partial<HelmReleaseSource> = {}): HelmReleaseSource {
  return {
    type: 'HELM',
    git: null,
    chart: { repository: 'charts', chart_name: 'redis', chart_version: '1.0.0' },
    arguments: [],
    allowClusterWideResources: false,
    values: { set: [], set_string: [], set_json: [], file: null },
    ports: [],
    timeoutSeconds: 60,
    ...overrides,
  };
}

/** Returns a running instance as a cluster reports it. */
export function instance(changes: Partial<Instance> = {}): Instance {
  return {
    id: 'one',
    name: 'one',
    environment: 'environment',
    service: 'service',
    release: 'release',
    rollout: 'rollout',
    index: 0,
    state: 'RUNNING',
    startedAt: '2026-01-01T00:00:00Z',
    exit: null,
    endpoints: [],
    ...changes,
  };
}
