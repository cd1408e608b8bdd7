import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const root = path.join(import.meta.dirname, '..');
const read = (name: string): string => readFileSync(path.join(root, name), 'utf8');

test('./davit and davit of the container image tell the operator’s commands from those that call a server', () => {
  const [, ofServer = ''] = read('packages/server/src/main/cli.ts').split('switch (command) {');
  const commands = [...ofServer.matchAll(/^ {6}case '([a-z]+)':/gm)].map(([, name = '']) => name);
  expect(commands).toContain('serve');
  for (const script of ['davit', 'deploy/davit.sh']) {
    const listed = /^'' \| (.*) \| -\*\) ;;$/m.exec(read(script))?.[1]?.split(' | ') ?? [];
    expect(listed.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(
      [...commands, 'help', 'version'].toSorted((a, b) => (a < b ? -1 : 1)),
    );
  }
});

test('the script of the container image runs the command line, without a shell between it and its caller', () => {
  const script = read('deploy/davit.sh').replaceAll('/app', root);
  const run = (...words: string[]): string =>
    execFileSync('sh', ['-c', script, 'davit', ...words], { encoding: 'utf8', env: { ...process.env, HOME: '/nonexistent' } });
  expect(run('cli', 'token', '--help')).toContain('davit token create');
  expect(run('completion', 'fish')).toContain('complete -c davit');
  expect(run('--help')).toContain('davit serve');
});
