import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Commit, GitSource, SourceDriver } from '../source-driver.ts';
import type { Calls } from './calls.ts';
import { digest } from './digest.ts';

/** The only file of a fake repository. */
const fakeDockerfile = 'FROM scratch\nEXPOSE 8080\n';

const fakeCommit = { authorName: 'An Author', createdAt: '2026-01-01T00:00:00.000Z', tag: '' };

/**
 * Returns repositories with one commit for each branch: the commit in `branches`, or one that is derived from the URL.
 * `message`: returns the message of all commits.
 */
export function fakeSource(calls: Calls, branches: ReadonlyMap<string, string>, message: () => string): SourceDriver {
  const head = (source: GitSource): string =>
    branches.get(source.branch ?? 'main') ?? digest(`${source.url} ${source.branch ?? 'main'}`).slice(0, 40);
  return {
    resolve: (source: GitSource, { signal }) =>
      calls.call({ method: 'resolve', service: '', detail: source.url }, signal, () => source.commit ?? head(source)),
    checkout: async (source, directory, { signal }) => {
      const commit = await calls.call({ method: 'checkout', service: '', detail: source.url }, signal, (): Commit => ({
        ...fakeCommit,
        message: message(),
        id: source.commit,
      }));
      await mkdir(directory, { recursive: true });
      await writeFile(join(directory, 'Dockerfile'), fakeDockerfile);
      return commit;
    },
    files: (source, { paths }, { signal }) =>
      calls.call({ method: 'files', service: '', detail: source.url }, signal, () =>
        paths.map((path) => (path === 'Dockerfile' ? fakeDockerfile : null)),
      ),
    list: (source, { choose }, { signal }) =>
      calls.call({ method: 'list', service: '', detail: source.url }, signal, () => {
        const paths = ['Dockerfile'];
        return { paths, isComplete: true, texts: new Map(choose(paths).map((path) => [path, fakeDockerfile])) };
      }),
    heads: (source, { signal }) =>
      calls.call({ method: 'heads', service: '', detail: source.url }, signal, () => ({
        defaultBranch: 'main',
        branches: new Map([['main', head(source)], ...branches]),
      })),
    changes: (source, { base, head }, { signal }) =>
      calls.call({ method: 'changes', service: '', detail: source.url }, signal, () => ({
        isForward: true,
        files: base === head ? [] : ['Dockerfile'],
      })),
    history: (source, _limit, { signal }) =>
      calls.call({ method: 'history', service: '', detail: source.url }, signal, () => [
        { ...fakeCommit, message: message(), id: head(source), authorEmail: 'author@example.org' },
      ]),
  };
}
