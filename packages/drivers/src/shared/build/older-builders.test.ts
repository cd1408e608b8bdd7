import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { parseDockerfile } from './dockerfile.ts';
import { forOlderBuilders, oldestSyntax, podmanSyntax } from './older-builders.ts';

const older = (content: string, targetStage: string | null = null, syntax = oldestSyntax): string[] =>
  forOlderBuilders(content, parseDockerfile(content), { targetStage, syntax }).split('\n');

/** Returns what the shell prints that an instruction `RUN ["/bin/sh", "-c", …]` starts. */
function printedBy(line: string): string {
  const [program = '', ...rest]: string[] = JSON.parse(line.slice(line.indexOf('['))) as string[]; // oxlint-disable-line typescript/no-unsafe-type-assertion -- written by the code under test
  return execFileSync(program, rest, { encoding: 'utf8', env: { NAME: 'davit', PATH: process.env['PATH'] } });
}

test('a here-document of a RUN becomes one line for the same shell, and the lines after it keep their numbers', () => {
  const script = [
    'FROM scratch',
    'RUN --mount=type=cache,target=/c <<EOF',
    'set -e',
    'printf "%s %s" "$NAME" \'a\\b\'',
    'EOF',
    'CMD ["x"]',
    '',
  ];
  const lines = older(script.join('\n'));
  expect(lines).toHaveLength(script.length);
  expect(lines[1]).toMatch(/^RUN --mount=type=cache,target=\/c \["\/bin\/sh","-c",/);
  expect(printedBy(lines[1]!)).toBe('davit a\\b');
  expect(lines.slice(2)).toEqual(['', '', '', 'CMD ["x"]', '']);
  expect(parseDockerfile(lines.join('\n')).fault).toBeNull();
});

test('commands get their documents as the shell knows them, and tabs are left out where `<<-` says so', () => {
  expect(printedBy(older("FROM a\nRUN cat <<'A' && cat <<B\n$NAME\nA\n$NAME\nB\n")[1]!)).toBe('$NAME\ndavit\n');
  expect(printedBy(older('FROM a\nRUN <<-X\n\techo one\n\tX\n')[1]!)).toBe('one\n');
  expect(printedBy(older('FROM a\nRUN <<-A cat; cat <<B\n\tone\nA\n\ttwo\nB\n')[1]!)).toBe('one\n\ttwo\n');
});

test('scripts with an interpreter of their own, files and other shells stay as they are', () => {
  for (const content of [
    'FROM a\nRUN <<E\n#!/usr/bin/env python3\nprint(1)\nE\n',
    'FROM a\nCOPY <<E /file\nx\nE\n',
    'FROM a\nSHELL ["bash", "-c"]\nRUN <<E\nx\nE\n',
    'FROM a\nRUN echo "<<X" $((1<<E))\nCMD x\n',
    'FROM a\nRUN <<E\nCMD x\n',
  ])
    expect(older(content).join('\n')).toBe(content);
});

test('stages after the target are left out, as is --link', () => {
  const content = 'FROM a AS one\nCOPY --link --chmod=755 x /x\nADD --link=true \\\n  y /y\nFROM one AS two\nRUN <<E\nx\nE\n';
  expect(older(content, 'ONE')).toEqual(['FROM a AS one', 'COPY --chmod=755 x /x', 'ADD \\', '  y /y', '']);
  expect(older(content, '1').at(4)).toBe('FROM one AS two');
});

test('a builder gets as written what it reads itself', () => {
  const content = 'FROM a\nCOPY --link x /x\nRUN <<E\nx\nE\n';
  const translated = (version: string): boolean[] => {
    const lines = older(content, null, podmanSyntax(version));
    return [lines[1] === 'COPY x /x', lines[2] !== 'RUN <<E'];
  };
  expect(translated('4.3.1')).toEqual([true, true]);
  expect(translated('4.9.0')).toEqual([true, false]);
  expect(translated('5.5.2')).toEqual([true, false]);
  expect(translated('5.6.0-rc1')).toEqual([false, false]);
  expect(translated('10.0')).toEqual([false, false]);
});
