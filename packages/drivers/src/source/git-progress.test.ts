import { expect, test } from 'vitest';
import { progressTo } from './git-progress.ts';

test('the newest progress is logged, also if a line arrives in two parts', () => {
  const lines: string[] = [];
  const onProgress = progressTo((line) => void lines.push(line), 0);
  onProgress('remote: Enumerating objects: 3483, done.\nremote: Counting objects:  10% (348/3483)\rremote: Counting obj');
  onProgress('ects:  20% (697/3483)\r');
  onProgress('Receiving objects:  27% (941/3483), 64.05 MiB | 20.91 MiB/s\rReceiving objects:  28% (976/3483)');
  onProgress(', 65.00 MiB | 21.00 MiB/s\r');
  expect(lines).toEqual([
    'Counting objects: 10% (348 of 3483)',
    'Counting objects: 20% (697 of 3483)',
    'Receiving objects: 27% (941 of 3483, 64.05 MiB)',
    'Receiving objects: 28% (976 of 3483, 65.00 MiB)',
  ]);
});

test('a command that ends soon logs none', () => {
  const lines: string[] = [];
  progressTo((line) => void lines.push(line))('Receiving objects: 100% (3/3), done.\n');
  expect(lines).toEqual([]);
});
