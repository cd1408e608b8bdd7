import { describe, expect, test } from 'vitest';
import type { DriverError } from '../../errors.ts';
import { buildFailure } from './build-failure.ts';
import { parseDockerfile } from './dockerfile.ts';
import { wantsRepository } from './repository-folder.ts';

function failure(
  dockerfile: string,
  instruction: string,
  message: string,
  instructionLines: readonly string[] = [],
): DriverError {
  const outcome = { imageId: null, commands: 0, lines: instructionLines, instruction, instructionLines, error: null };
  const about = { dockerfilePath: 'Dockerfile', memoryMiB: null, wasKilledForMemory: null };
  return buildFailure({ ...about, outcome, message, dockerfile: parseDockerfile(dockerfile) });
}

test('a build that wants .git is told that there is none, and what to do', () => {
  const copy = failure('FROM a\nCOPY .git/HEAD /x\n', 'COPY .git/HEAD /x', 'stat .git/HEAD: no such file or directory');
  expect(copy).toMatchObject({ code: 'BUILD_COMMAND_FAILED', hint: expect.stringContaining('without .git') });
  const lines = ['fatal: not a git repository (or any of the parent directories): .git'];
  const command = failure(
    'FROM a\nRUN git describe\n',
    'RUN git describe',
    'executor failed running [/bin/sh -c git describe]: exit code: 128',
    lines,
  );
  expect(command).toMatchObject({ code: 'BUILD_COMMAND_FAILED', hint: expect.stringContaining('without .git') });
  const other = failure('FROM a\nCOPY src /x\n', 'COPY src /x', 'stat src: no such file or directory');
  expect(other.hint).not.toContain('.git');
});

test('a builder without here-documents is named as what it is', () => {
  const text = 'FROM a\nRUN <<E\nset -e\nE\n';
  const found = failure(text, '', 'dockerfile parse error line 3: unknown instruction: SET');
  expect(found).toMatchObject({ code: 'DOCKERFILE_INVALID', hint: expect.stringContaining('# syntax=docker/dockerfile:1') });
  expect(found.message).toMatch(/^Dockerfile, line 2: .*here-documents/);
});

describe('an instruction that wants .git', () => {
  test.each([
    'COPY .git /x',
    'COPY ./.git/HEAD /x',
    'ADD [".git", "/x"]',
    'COPY a .git/ b/',
    'RUN cd x && git rev-parse HEAD',
    'RUN git -C . describe --tags',
  ])('%s', (line) => expect(wantsRepository(parseDockerfile(`FROM a\n${line}\n`))?.line).toBe(2));
  test.each([
    'COPY .gitignore /x',
    'COPY . /x',
    'COPY --from=b /x/.git /y',
    'RUN git clone https://x && git log',
    'RUN apk add git',
    'COPY app.git /x',
  ])('not: %s', (line) => expect(wantsRepository(parseDockerfile(`FROM a\n${line}\n`))).toBeNull());
});
