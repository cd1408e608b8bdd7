import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { dependencyRepositories } from './dependencies.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'davit-chart-'));
  await mkdir(join(root, 'web'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const named = (repository: string, name = 'other') =>
  `dependencies: [{name: ${name}, version: 1.0.0, repository: '${repository}'}]`;
const chartYaml = 'apiVersion: v2\nname: web\nversion: 1.0.0\n';

/** Returns the repositories of a chart with these files and a Chart.yaml without dependencies. */
async function repositories(files: Readonly<Record<string, string>>): Promise<readonly string[] | null> {
  for (const [name, text] of Object.entries({ 'Chart.yaml': chartYaml, ...files }))
    await writeFile(join(root, 'web', name), text);
  return dependencyRepositories(join(root, 'web'), root);
}
const refused = { code: 'HELM_CHART_INVALID' };

test('repositories are those of all files that name dependencies', async () => {
  expect(await repositories({})).toBeNull();
  expect(await repositories({ 'requirements.yaml': '# none\n' })).toBeNull();
  const [one, two] = ['https://one.example.org', 'https://two.example.org'];
  expect(await repositories({ 'requirements.yaml': named(one), 'Chart.lock': named(two) })).toEqual([one, two]);
  expect(await repositories({ 'Chart.yaml': `${chartYaml}${named('file://../common')}` })).not.toBeNull();
  expect(await repositories({ 'Chart.yaml': `${chartYaml}${named('oci://registry.example.org/charts')}` })).not.toBeNull();
});

test.each(['Chart.yaml', 'requirements.yaml', 'Chart.lock', 'requirements.lock'])(
  'folders of this machine are none of a chart that names them in %s',
  async (file) => {
    const start = file === 'Chart.yaml' ? chartYaml : '';
    for (const location of ['file:///etc', 'file://../../other', 'file://..', '/etc', 'FILE:///etc', 'file:/etc', 's3://x']) {
      await expect(repositories({ [file]: start + named(location) })).rejects.toMatchObject(refused);
    }
    await expect(repositories({ [file]: start + named('', '../../etc') })).rejects.toMatchObject(refused);
  },
);

test.each([
  "DEPENDENCIES: [{name: a, repository: 'file:///etc'}]",
  "dependencie\u017F: [{name: a, repository: 'file:///etc'}]",
  "dependencies: [{name: a, repository: 'https://x', Repository: 'file:///etc'}]",
  'dependencies: [{name: a, repository: !!binary ZmlsZTovLy9ldGM=}]',
  'dependencies: [{name: a, repository: [x]}]',
  "base: &base {repository: 'file:///etc'}\ndependencies: [{name: a, <<: *base}]",
  "<<: {dependencies: [{name: a, repository: 'file:///etc'}]}",
  `"<<": {dependencies: [{name: a, repository: 'file:///etc'}]}`,
  "--- {}\n--- {dependencies: [{name: a, repository: 'file:///etc'}]}",
  'dependencies: {a: b}',
  '- a',
])('what Helm could read otherwise is refused: %j', async (text) => {
  await expect(repositories({ 'requirements.yaml': text })).rejects.toMatchObject(refused);
});

test('Helm reads what was read here: a sign that ends lines for YAML 1.1 alone hides nothing', async () => {
  const hidden = "# a\u2028dependencies: [{name: a, repository: 'file:///etc'}]\ndescription: x\n";
  expect(await repositories({ 'requirements.yaml': hidden })).toBeNull();
  expect(await readFile(join(root, 'web', 'requirements.yaml'), 'utf8')).toBe('{"description":"x"}');
});
