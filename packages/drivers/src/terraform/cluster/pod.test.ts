import { expect, test } from 'vitest';
import type { Container } from 'kubernetes-types/core/v1.js';
import type { TerraformRun } from '../../terraform-driver.ts';
import { statePath } from '../../terraform-state.ts';
import { toManifests } from '../../kubernetes/manifests/index.ts';
import { faultsOf } from '../../kubernetes/testing/schemas.ts';
import { cluster, sampleWorkload } from '../../kubernetes/testing/workloads.ts';
import { MemoryState } from '../testing.ts';
import { defaultImages, imageOf, toRunWorkload } from './pod.ts';

const { owner } = sampleWorkload();
const id = 'a9f0a2c4-0000-8000-8000-000000000009';
const run: TerraformRun = {
  id,
  owner,
  name: 'Network',
  release: 'a9f0a2c4-0000-4000-8000-000000000006',
  engine: 'TERRAFORM',
  version: null,
  folder: '/var/lib/davit/work/1',
  fetch: () => Promise.reject(new Error('not asked')),
  rootPath: '/net',
  backend: { type: 'DAVIT', store: new MemoryState(), admit: () => Promise.reject(new Error('not asked')) },
  environment: { REGION: 'here', HOME: '/elsewhere', TF_HTTP_PASSWORD: 'mine' },
  files: [{ path: '/keys/cloud.json', content: '{"key":"canary"}' }],
  variableFiles: ['live.tfvars'],
  variables: { password: 'canary $1' },
  extraArguments: { apply: ['-parallelism=2'] },
  limits: { cpuMillicores: 1500, memoryMiB: 1024, storageGiB: 3, graceSeconds: 90 },
};
const state = { address: 'https://davit.example.org/api/', path: statePath(id), password: 'sesame' };
const workload = toRunWorkload(run, 'registry.example.org/terraform:1.11', state);
const variables = Object.fromEntries(workload.environment.map(({ name, value }) => [name, value.reveal()]));

/** Returns the Job and the Secret of the run. */
function objects(podSecurity: 'baseline' | 'restricted') {
  const { controllers, secrets, claims } = toManifests(
    workload,
    { ...cluster, settings: { ...cluster.settings, podSecurity } },
    id,
  );
  expect(claims).toEqual([]);
  return { job: controllers[0], secret: secrets[0] };
}

test('a version that is asked for is the tag of the image, unless that is named by its digest', () => {
  const digest = 'registry.example.org/terraform@sha256:00';
  expect(imageOf({ engine: 'OPEN_TOFU', version: null }, defaultImages)).toBe('ghcr.io/opentofu/opentofu:1.9');
  expect(imageOf({ engine: 'TERRAFORM', version: '1.9.3' }, defaultImages)).toBe('docker.io/hashicorp/terraform:1.9.3');
  const own = { ...defaultImages, TERRAFORM: 'registry.example.org:5000/terraform' };
  expect(imageOf({ engine: 'TERRAFORM', version: '1.9.3' }, own)).toBe('registry.example.org:5000/terraform:1.9.3');
  expect(imageOf({ engine: 'TERRAFORM', version: '1.9.3' }, { ...own, TERRAFORM: digest })).toBe(digest);
});

test('a run has its variables, arguments and the way to its state; those of Davit go before those of the user', () => {
  expect(variables).toMatchObject({
    REGION: 'here',
    HOME: '/davit/home',
    GOMAXPROCS: '2',
    TF_CLI_ARGS_plan: `'-var-file=live.tfvars' '-var=password=canary $1'`,
    TF_CLI_ARGS_apply: `'-parallelism=2'`,
    TF_HTTP_ADDRESS: `https://davit.example.org/api/internal/terraform-state/${id}`,
    TF_HTTP_USERNAME: 'davit',
    TF_HTTP_PASSWORD: 'sesame',
  });
  expect(variables).not.toHaveProperty('TF_CLI_ARGS_init');
});

test('variables that no process could be started with are refused before there is a pod', () => {
  const large = { ...run, variables: { policy: 'x'.repeat(70_000), rules: 'x'.repeat(70_000) } };
  expect(() => toRunWorkload(large, 'registry.example.org/terraform:1.11', state)).toThrow(
    /policy \(\d+ bytes\), rules \(\d+ bytes\)/,
  );
});

test.each(['baseline', 'restricted'] as const)('its Job is one that Kubernetes takes, and no secret is in it (%s)', (level) => {
  const { job, secret } = objects(level);
  expect(faultsOf(job ?? {})).toEqual([]);
  expect(faultsOf(secret ?? {})).toEqual([]);
  expect(JSON.stringify(job)).not.toMatch(/canary|sesame/);
  const spec = job?.kind === 'Job' ? job.spec?.template.spec : undefined;
  const users = spec?.containers.map(({ securityContext }: Container) => securityContext?.runAsUser);
  // Both containers write to the same folder.
  expect(users).toEqual(level === 'baseline' ? [0, 0] : [65_534, 65_534]);
  expect(spec).toMatchObject({
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 90,
    volumes: expect.arrayContaining([{ name: 'folder-0', emptyDir: { sizeLimit: '3Gi' } }]),
    containers: [
      expect.objectContaining({
        resources: { requests: { cpu: '1500m', memory: '1024Mi' }, limits: { cpu: '1500m', memory: '1024Mi' } },
        volumeMounts: expect.arrayContaining([expect.objectContaining({ mountPath: '/keys/cloud.json', readOnly: true })]),
      }),
      expect.objectContaining({ name: 'helper' }),
    ],
  });
});
