import { neverAborted } from '@davit/base';
import { createGitSource } from '../git-source.ts';

/* A process that checks a commit out, for a test that kills it. The argument is JSON. */

const { keptFolder, folder, ...source } = JSON.parse(process.argv[2] ?? '');
await createGitSource({ kept: { folder: keptFolder, maximumBytes: 1e9 } }).checkout(source, folder, {
  signal: neverAborted,
  log: () => undefined,
});
