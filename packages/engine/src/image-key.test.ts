import { expect, test } from 'vitest';
import { imageKey, type ImageContent } from './image-key.ts';

const content: ImageContent = {
  repositoryUrl: 'https://example.com/a.git',
  commit: 'a'.repeat(40),
  rootPath: '/',
  dockerfilePath: 'Dockerfile',
  targetStage: null,
  arguments: { A: '1', B: '2' },
};

test('equal content has an equal key, however it is written', () => {
  const key = imageKey(content);
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  expect(imageKey({ ...content, rootPath: './', dockerfilePath: './Dockerfile', arguments: { B: '2', A: '1' } })).toBe(key);
});

test.each<Partial<ImageContent>>([
  { repositoryUrl: 'https://example.com/b.git' },
  { commit: 'b'.repeat(40) },
  { rootPath: '/api' },
  { dockerfilePath: 'api/Dockerfile' },
  { targetStage: 'build' },
  { arguments: { A: '1', B: '3' } },
  { arguments: { A: '1' } },
  { tree: 'c'.repeat(40) },
])('a change of %j is another key', (change) => {
  expect(imageKey({ ...content, ...change })).not.toBe(imageKey(content));
});

test('with a tree, commits that leave the folder alone have one key', () => {
  const tree = 'c'.repeat(40);
  expect(imageKey({ ...content, tree, commit: 'b'.repeat(40) })).toBe(imageKey({ ...content, tree }));
});
