import { loadAll } from 'js-yaml';
import { roleObjects, roleRules } from '@davit/drivers/kubernetes';
import { afterEach, expect, test, vi } from 'vitest';
import { run } from './cli.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Returns the output of a command line and its exit code. */
async function printed(...args: string[]) {
  let out = '';
  let errors = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => (out += String(text)).length > 0);
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => (errors += String(text)).length > 0);
  const code = await run(args);
  vi.restoreAllMocks();
  return { code, out, errors };
}

test('the manifest is printed as YAML, whatever the configuration is', async () => {
  vi.stubEnv('DAVIT_PORT', 'no port');
  const { code, out } = await printed('cluster', 'manifest');
  vi.unstubAllEnvs();
  expect(code).toBe(0);
  expect(loadAll(out)).toEqual(roleObjects({ namespace: 'davit-system', name: 'davit' }));
});

test('what charts need is in it where that is asked for', async () => {
  const { out } = await printed('cluster', 'manifest', '--charts');
  expect(loadAll(out)).toEqual(roleObjects({ namespace: 'davit-system', name: 'davit' }, { charts: true }));
  expect(out).toContain('resourceNames: [admin], verbs: [bind]');
  expect(roleRules()).not.toContainEqual(expect.objectContaining({ resources: ['clusterroles'] }));
});

test('namespace and name can be others, and must be names', async () => {
  const { out } = await printed('cluster', 'manifest', '--namespace', 'shipyard', '--name', 'dock');
  expect(loadAll(out)).toEqual(roleObjects({ namespace: 'shipyard', name: 'dock' }));
  const wrong = await printed('cluster', 'manifest', '--namespace', 'a: {b');
  expect(wrong).toMatchObject({ code: 2, out: '', errors: expect.stringContaining('--namespace must have 1 to 63') });
  expect(await printed('cluster', 'manifesto')).toMatchObject({ code: 2, errors: expect.stringContaining('cluster manifest') });
});
