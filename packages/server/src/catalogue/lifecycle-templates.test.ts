import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parseLifecycleTemplates, readLifecycleTemplates } from './lifecycle-templates.ts';

const own = JSON.parse(await readFile(new URL('../../data/lifecycle-templates.json', import.meta.url), 'utf8'));

function changed(change: (file: typeof own) => void): string {
  const copy = structuredClone(own);
  change(copy);
  return JSON.stringify(copy);
}

test('the templates of this version are valid, and a shell takes their commands and scripts', async () => {
  const { templates } = parseLifecycleTemplates(JSON.stringify(own), 'this version');
  expect(await readLifecycleTemplates(null)).toEqual(own);
  const scripts = templates.flatMap(({ events, variables }) => [
    ...events.flatMap(({ command }) => (command[0] === '-c' ? [command[1] ?? ''] : [])),
    ...variables.flatMap(({ file, default: content }) => (file?.path.endsWith('.sh') === true ? [content] : [])),
  ]);
  expect(scripts.length).toBeGreaterThan(4);
  for (const script of scripts) expect(spawnSync('/bin/sh', ['-n', '-c', script])).toMatchObject({ status: 0 });
});

test('a file of the operator takes their place', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'davit-templates-'));
  try {
    const file = path.join(folder, 'templates.json');
    await writeFile(
      file,
      changed((mine) => (mine.templates = [])),
    );
    expect(await readLifecycleTemplates(file)).toEqual({ version: own.version, templates: [] });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('what is wrong is told with its place', () => {
  const faults: readonly (readonly [string, string])[] = [
    [changed(({ templates }) => (templates[0].id = 'x')), 'templates.0.id'],
    [changed(({ templates }) => (templates[1].id = templates[0].id)), 'twice'],
    [changed(({ templates }) => (templates[0].events[0].name = 'begin')), 'templates.0.events.0.name'],
    [changed(({ templates }) => (templates[1].events[1].name = 'start')), 'has the event start twice'],
    [changed(({ templates }) => (templates[0].variables[1].name = 'PGHOST')), 'has PGHOST twice'],
    [changed(({ templates }) => (templates[0].dockerfile = 'RUM x')), 'templates.0.dockerfile must match'],
    [changed(({ templates }) => (templates[0].dockerflie = 'FROM x')), 'unknown property dockerflie'],
  ];
  for (const [text, message] of faults) {
    expect(() => parseLifecycleTemplates(text, 'a file')).toThrow(message);
    expect(() => parseLifecycleTemplates(text, 'a file')).toThrow('DAVIT_LIFECYCLE_TEMPLATES');
  }
});
