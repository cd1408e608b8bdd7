import { spawnSync } from 'node:child_process';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Problems } from '../../shared/problems.ts';
import { isBranchName, toGitRepository, type GitRepositorySpec } from './git.ts';
import type { GitRepositoryRequest } from './request.ts';

function read(
  request: GitRepositoryRequest,
  { former = null, allowLocal = false }: { former?: GitRepositorySpec | null; allowLocal?: boolean } = {},
): { spec: GitRepositorySpec; faults: string[] } {
  const problems = new Problems();
  const spec = toGitRepository(request, former, { problems, allowLocal });
  return { spec, faults: problems.found.map(({ path, message }) => `${path}: ${message}`) };
}

test.each([
  ['https://github.com/acme/shop', 'HOSTA', 'acme', 'shop'],
  ['https://www.gitlab.com/group/sub/shop.git', 'HOSTB', 'group/sub', 'shop'],
  ['https://bitbucket.org/acme/shop/', 'HOSTC', 'acme', 'shop'],
  ['http://127.0.0.1:3000/shop.git', 'GENERIC', '', 'shop'],
  ['https://git.example.org/a%20b/100%.git', 'GENERIC', 'a b', '100%'],
])('%s is read as provider, owner and name', (url, provider, owner, name) => {
  const { spec, faults } = read({ url });
  expect(faults).toEqual([]);
  expect(spec).toMatchObject({ url, provider, owner, name });
});

test.each([
  ['git@github.com:acme/shop.git', 'ssh is not supported'],
  ['ssh://git@github.com/acme/shop.git', 'ssh is not supported'],
  ['ext::sh -c whoami', 'must be an http or https URL'],
  ['--upload-pack=/bin/sh', 'must be a URL'],
  ['https://github.com/acme/shop.git\n', 'must be a URL'],
  ['https://github.com/a b', 'must be an http or https URL'],
  [String.raw`https://github.com\acme/shop`, 'must be an http or https URL'],
  ['https://github.com/', 'must name a repository'],
  ['https://github.com/acme/shop?x=1', 'must not have a query'],
  ['https://', 'must be an http or https URL'],
  ['shop', 'must be an http or https URL'],
])('%s is refused with a reason', (url, reason) => {
  const { faults } = read({ url }, { allowLocal: true });
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain(reason);
});

test.each(['https://me:s3cret@github.com/a/b', 'https://s3cret@github.com/a/b', 'https://@github.com/a/b'])(
  'credentials in %s are refused and not repeated',
  (url) => {
    const { faults } = read({ url });
    expect(faults).toEqual([
      'git_repository.url: must not contain credentials; create a git token and name it in git_repository.git_token_id',
    ]);
  },
);

test('places of this machine need the setting', () => {
  for (const url of ['/srv/git/shop.git', 'file:///srv/git/shop.git']) {
    expect(read({ url }).faults[0]).toContain('DAVIT_ALLOW_LOCAL_REPOSITORIES=true');
    const { spec, faults } = read({ url }, { allowLocal: true });
    expect(faults).toEqual([]);
    expect(spec).toMatchObject({ provider: 'GENERIC', owner: 'srv/git', name: 'shop' });
  }
  for (const url of ['/srv/../etc', 'file://host/srv/git', '/'])
    expect(read({ url }, { allowLocal: true }).faults).toHaveLength(1);
});

const former: GitRepositorySpec = {
  provider: 'GENERIC',
  owner: 'acme',
  url: 'https://git.example.org/acme/shop',
  name: 'shop',
  branch: 'main',
  root_path: '/api',
  git_token_id: '11111111-1111-4111-8111-111111111111',
};

test('an edit of the same url keeps what it leaves out; null resets it', () => {
  expect(read({ url: former.url }, { former }).spec).toEqual(former);
  expect(read({ url: former.url, branch: null, root_path: null, git_token_id: null }, { former }).spec).toEqual({
    ...former,
    branch: null,
    root_path: '/',
    git_token_id: null,
  });
});

test('a token is not carried over to another url', () => {
  expect(read({ url: 'https://elsewhere.example.org/acme/shop' }, { former }).spec).toMatchObject({
    git_token_id: null,
    branch: null,
  });
});

test('the root path has one form and stays inside', () => {
  expect(read({ url: former.url, root_path: 'a//b/./c/' }).spec.root_path).toBe('/a/b/c');
  expect(read({ url: former.url, root_path: '' }).spec.root_path).toBe('/');
  expect(read({ url: former.url, root_path: '/a/../..' }).faults).toHaveLength(1);
});

test('branch names are those that git takes', () => {
  const name = fc.string({
    unit: fc.constantFrom('a', 'B', '/', '.', '-', '@', '{', '~', ' ', ':', '.lock', 'é', '*', '\\', '\t'),
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(name, (branch) => {
      const { status } = spawnSync('git', ['check-ref-format', `refs/heads/${branch}`]);
      // A leading dash is legal in a reference but an option on a command line. `@` alone means HEAD there.
      const isOption = branch.startsWith('-') || branch === '@';
      expect([branch, isBranchName(branch)]).toEqual([branch, status === 0 && !isOption]);
    }),
    { numRuns: 150 },
  );
});
