import { expect, test } from 'vitest';
import { replacedAddresses } from './submodule-addresses.ts';

const replaced = (...urls: string[]): [string, string][] => [
  ...replacedAddresses(
    urls.map((url) => `[submodule "x"]\n\tpath = x\n\turl = ${url}\n`).join(''),
    'https://git.example.org:8443',
  ),
];

test('submodules with addresses for SSH are fetched over https, on the host of the repository at its port', () => {
  expect(
    replaced('git@git.example.org:acme/lib.git', 'ssh://git@other.example.com:22/lib', 'git://other.example.com/lib'),
  ).toEqual([
    ['git@git.example.org:', 'https://git.example.org:8443/'],
    ['ssh://git@other.example.com:22/', 'https://other.example.com/'],
    ['git://other.example.com/', 'https://other.example.com/'],
  ]);
});

test('other addresses stay as they are, as do those that could start a program', () => {
  expect(
    replaced(
      '../lib.git',
      'https://x@h/lib',
      'http://h/lib',
      '/folder',
      'ext::sh -c x',
      '-oProxyCommand=x@h:y',
      '-x@h:y',
      'git@-h:y',
      'h:lib',
    ),
  ).toEqual([]);
});

test('of very many hosts only the first hundred are replaced', () => {
  expect(replaced(...Array.from({ length: 200 }, (_, at) => `git@h${at}.example.com:lib`))).toHaveLength(100);
});
