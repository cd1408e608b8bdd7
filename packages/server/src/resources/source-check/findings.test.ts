import { dockerfileFacts } from '@davit/drivers';
import { expect, test } from 'vitest';
import { filesToRead, findings } from './findings.ts';

test('Dockerfiles are found by their names, nearest first, without those of dependencies and tools', () => {
  const paths = [
    '.devcontainer/Dockerfile',
    'api/v1/Dockerfile',
    'api/Dockerfile.dev',
    'Containerfile',
    'node_modules/a/Dockerfile',
    'docs/dockerfiles.md',
    'web.Dockerfile',
    'docker-compose.yml',
    'compose.yaml',
    'api/compose.yaml',
  ];
  expect(filesToRead(paths)).toEqual([
    'Containerfile',
    'web.Dockerfile',
    'api/Dockerfile.dev',
    'api/v1/Dockerfile',
    'compose.yaml',
  ]);
  expect(filesToRead(Array.from({ length: 50 }, (_none, index) => `${index}/Dockerfile`))).toHaveLength(20);
});

test('languages, charts and Terraform are known by their files, and a broken compose file has no services', () => {
  const found = (paths: string[], texts: Record<string, string> = {}) =>
    findings(paths, new Map(Object.entries(texts)), dockerfileFacts);
  expect(found(['package.json', 'tsconfig.json', 'go.mod', 'sub/Gemfile', 'main.tf', 'chart/Chart.yaml', 'Chart.yaml'])).toEqual({
    dockerfiles: [],
    compose_file: null,
    charts: ['.', 'chart'],
    terraform: true,
    languages: ['GO', 'TYPESCRIPT'],
  });
  expect(found(['package.json'])).toMatchObject({ languages: ['JAVASCRIPT'], terraform: false });
  const compose = (text: string) => found([], { 'compose.yaml': text }).compose_file?.services;
  expect(compose('services:\n  web: {image: nginx}\n  store: {}\n')).toEqual(['web', 'store']);
  for (const text of ['services: [', 'a: &a [*a]', '', 'x'.repeat(300_000)]) expect(compose(text)).toEqual([]);
  expect(found([], { Dockerfile: `FROM x\n#${'x'.repeat(300_000)}` }).dockerfiles).toMatchObject([
    { fault: 'It is larger than 256 KiB.' },
  ]);
});
