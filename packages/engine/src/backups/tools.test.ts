import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasRelease, toFacts, toolCommand, toolFiles } from './tools.ts';

const types = ['POSTGRESQL', 'REDIS', 'MYSQL', 'MONGODB'] as const;

test.each(types)('%s has a script for each thing that is done, and all that these include', (type) => {
  const files = new Map(toolFiles(type).map(({ path: name, content }) => [name, content.reveal()]));
  for (const script of ['dump', 'prove', 'restore'] as const) expect([...files.keys()]).toContain(toolCommand(script)[1]);
  expect(hasRelease(type)).toBe(type === 'POSTGRESQL' || type === 'REDIS');
  for (const text of files.values()) {
    for (const [, name = ''] of text.matchAll(/(?:^\. |-f |\\i )(\/davit\/[\w.]+)/gm)) expect([...files.keys()]).toContain(name);
  }
});

test.each(types)('the shell scripts of %s are shell scripts', (type) => {
  for (const { path: name, content } of toolFiles(type).filter((file) => file.path.endsWith('.sh'))) {
    const { status, stderr } = spawnSync('sh', ['-n'], { input: content.reveal(), encoding: 'utf8' });
    expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: '' });
  }
});

test('facts are what a dump says, and nothing where it says none', () => {
  expect(toFacts('version 15.8 (Debian 15.8-0)\nbytes 4096\n')).toEqual({
    serverVersion: '15.8 (Debian 15.8-0)',
    dataBytes: 4096,
  });
  expect(toFacts('bytes many')).toEqual({ serverVersion: null, dataBytes: null });
  expect(toFacts(null)).toEqual({ serverVersion: null, dataBytes: null });
});

describe('the comparison', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'davit-compare-'));
    const common = toolFiles('REDIS').find((file) => file.path.endsWith('/common.sh'));
    writeFileSync(path.join(folder, 'common.sh'), common?.content.reveal() ?? '');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function run(command: string, was: string, is: string): { readonly status: number | null; readonly output: string } {
    writeFileSync(path.join(folder, 'was'), was);
    writeFileSync(path.join(folder, 'is'), is);
    const { status, stdout, stderr } = spawnSync('sh', ['-c', `. ./common.sh; ${command}`], { cwd: folder, encoding: 'utf8' });
    return { status, output: `${stdout}${stderr}` };
  }

  test.each([
    ['', ''],
    ['a\nb\n', 'a\nb\n'],
    ['a\nb\nb\n', 'b\na\nb\n'],
  ])('finds nothing between %j and %j', (was, is) => {
    expect(run('same was is', was, is)).toEqual({ status: 0, output: '' });
  });

  test.each([
    ['rows of visit|3\n', 'rows of visit|2\n', 'was there 1 times, is there 0: rows of visit|3'],
    ['a\nb\nb\n', 'a\nb\n', 'was there 2 times, is there 1: b'],
    ['', 'a\n', 'was not there: a'],
    ['a\n', '', 'was there 1 times, is there 0: a'],
  ])('between %j and %j fails and says what is different', (was, is, expected) => {
    const { status, output } = run('same was is', was, is);
    expect(status).toBe(65);
    expect(output).toContain(expected);
  });

  test('says at most twenty differences', () => {
    const many = Array.from({ length: 100 }, (_, index) => `row ${index}\n`).join('');
    const { output } = run('same was is', many, '');
    expect(output.trim().split('\n')).toHaveLength(21);
    expect(output).toContain('100 differences');
  });

  test('knows what two have in common', () => {
    expect(run('both was is', 'a\nb\n', 'b\nc\n').output).toBe('b\n');
    expect(run('both was is', '', 'b\n').output).toBe('');
  });
});
