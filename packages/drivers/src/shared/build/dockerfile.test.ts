import { describe, expect, test } from 'vitest';
import { argumentNames, findStage, lineOf, parseDockerfile, withoutSyntax } from './dockerfile.ts';

test('the instructions of a syntax of its own are not judged', () => {
  expect(parseDockerfile('# syntax=example.com/own:1\nWHATEVER x\n').fault).toBeNull();
});

test('the syntax line is read, and taken away without moving any other line', () => {
  const content = '# escape=`\r\n#  Syntax = docker/dockerfile:1.7-labs\r\nFROM scratch\n';
  expect(parseDockerfile(content).syntax).toEqual({ image: 'docker/dockerfile:1.7-labs', isOfficial: true });
  const bare = withoutSyntax(content);
  expect(parseDockerfile(bare)).toEqual({ ...parseDockerfile(content), syntax: null });
  expect(bare).toHaveLength(content.length);
  const later = 'FROM scratch\n# syntax=docker/dockerfile:1\n';
  expect(withoutSyntax(later)).toBe(later);
  expect(parseDockerfile('# syntax=example.com/own:1\nFROM scratch\n').syntax?.isOfficial).toBe(false);
});

describe('reading a Dockerfile', () => {
  test('continued lines, comments between them and line numbers', () => {
    const { instructions } = parseDockerfile('\n# a\nFROM scratch\nRUN a \\\n  # why\n\n  && b\n\nCMD ["x"]\n');
    expect(instructions.map(({ line, keyword, rest }) => [line, keyword, rest.replace(/\s+/g, ' ')])).toEqual([
      [3, 'FROM', 'scratch'],
      [4, 'RUN', 'a && b'],
      [9, 'CMD', '["x"]'],
    ]);
  });

  test('the escape directive, byte order mark and line ends of Windows', () => {
    const { instructions } = parseDockerfile('\uFEFF# escape=`\r\nFROM scratch\r\nRUN dir C:\\`\r\n x\r\n');
    expect(instructions.map(({ rest }) => rest)).toEqual(['scratch', 'dir C:\\ x']);
  });

  test('text of here-documents is not taken for instructions', () => {
    const dockerfile = parseDockerfile('FROM scratch\nRUN <<A cat && cat <<B\nFROM x AS y\nA\nARG no\nB\nCMD a\n');
    expect(dockerfile.instructions.map(({ keyword }) => keyword)).toEqual(['FROM', 'RUN', 'CMD']);
    expect(dockerfile.fault).toBeNull();
  });

  test.each([
    'RUN echo $((1<<N)) > /bits',
    'RUN echo "<<EOF" \'<<EOF\' \\<<EOF a<<EOF',
    'RUN ["sh", "-c", "cat <<EOF"]',
    'RUN cat <<<EOF',
    'RUN cat <<EOF',
  ])('%j has no here-document, so the next line is an instruction', (line) => {
    const { instructions } = parseDockerfile(`FROM scratch\n${line}\nCMD a\n`);
    expect(instructions.map(({ keyword, document, lastLine }) => [keyword, document, lastLine])).toEqual([
      ['FROM', null, 1],
      ['RUN', null, 2],
      ['CMD', null, 3],
    ]);
  });

  test.each(['RUN sh <<END-1.x', 'RUN 3<<"END-1.x" cat <&3', 'ONBUILD RUN <<-END-1.x', 'ADD <<\\END-1.x /x'])(
    '%s has one',
    (line) => {
      const { instructions, fault } = parseDockerfile(`FROM scratch\n${line}\r\nfrob\r\nEND-1.x\r\nCMD a\n`);
      expect(instructions.map(({ document }) => document)).toEqual([null, 'frob\nEND-1.x', null]);
      expect(fault).toBeNull();
    },
  );

  test('a file of very many lines is read in one pass', () => {
    const began = performance.now();
    expect(parseDockerfile(`FROM scratch\n${'RUN <<A\n'.repeat(60_000)}`).instructions).toHaveLength(60_001);
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  test('arguments of all stages and of lines with several', () => {
    const { argumentNames: names } = parseDockerfile('ARG V=1\nFROM a:$V\nARG B C="x y" D=\nFROM b\nARG _e2=\'1 F=2\'\n');
    expect([...names]).toEqual(['V', 'B', 'C', 'D', '_e2']);
    expect(argumentNames('A="b c" D')).toEqual(['A', 'D']);
  });

  test('stages are found by name, ignoring case, and by number', () => {
    const dockerfile = parseDockerfile('FROM --platform=linux/amd64 a AS Build\nFROM b as 2nd\nFROM c\n');
    expect(findStage(dockerfile, 'build')?.base).toBe('a');
    expect(findStage(dockerfile, '2')?.base).toBe('c');
    expect(findStage(dockerfile, '3')).toBeUndefined();
    expect(findStage(dockerfile, 'nope')).toBeUndefined();
  });

  test('an instruction that an engine repeats is found again', () => {
    const dockerfile = parseDockerfile('FROM scratch\nENV A=1 \\\n B="2"\nHEALTHCHECK --interval=z  CMD x\n');
    expect(lineOf(dockerfile, 'HEALTHCHECK --interval=z CMD x')).toBe(4);
    expect(lineOf(dockerfile, 'ENV A=1   B="2"')).toBe(2);
    expect(lineOf(dockerfile, 'ENV other')).toBeNull();
  });
});

describe('faults', () => {
  test.each([
    ['', 1, 'it has no FROM instruction'],
    ['# only words\n', 1, 'it has no FROM instruction'],
    ['ARG A\nRUN x\nFROM a\n', 2, 'RUN comes before the first FROM'],
    ['FROM scratch\n\nFROB x\n', 3, 'unknown instruction FROB'],
    ['FROM scratch\nRUN\n', 2, 'RUN needs at least one argument'],
    ['FROM scratch bas\n', 1, 'FROM takes an image, or an image, AS and a name'],
    ['FROM scratch\nCOPY a\n', 2, 'COPY needs a source and a destination'],
    ['FROM scratch\nENV A\n', 2, 'ENV A has no value'],
    ['FROM scratch\nLABEL a=1 b\n', 2, 'LABEL takes name=value, not b'],
    ['FROM scratch\nEXPOSE 80 web\n', 2, 'EXPOSE takes ports, not web'],
    ['FROM scratch\nRUN <<A\nset -e\n', 2, 'its here-document has no last line A'],
  ])('of %j: line %i, %s', (text, line, message) => {
    expect(parseDockerfile(text).fault).toEqual({ line, message });
  });

  test.each([
    'EXPOSE 80 81/tcp 90-99/udp $PORT ${P}/tcp',
    'COPY ["a","b"]',
    'COPY <<E /x\nE',
    'ONBUILD RUN x',
    'ENV A b c d',
    'ENV A="b c" \'D\'=e\\ f',
    'LABEL a=',
    'MAINTAINER a',
  ])('%j is none', (line) => {
    expect(parseDockerfile(`FROM scratch\n${line}\n`).fault).toBeNull();
  });
});
