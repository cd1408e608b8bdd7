import { expect, test } from 'vitest';
import { LastLines, LineSplitter } from './lines.ts';

function linesOf(...chunks: (string | Buffer)[]): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  for (const chunk of chunks) splitter.write(Buffer.from(chunk));
  splitter.end();
  return lines;
}

test('lines end as programs end them, wherever the chunks do', () => {
  expect(linesOf('a\nb\r\nc\rd')).toEqual(['a', 'b', 'c', 'd']);
  expect(linesOf('a\r', '\nb', '\n\n')).toEqual(['a', 'b', '']);
  expect(linesOf('a\r', 'b\r', '\n')).toEqual(['a', 'b']);
  const bytes = Buffer.from('größe\n');
  expect(linesOf(...[...bytes].map((byte) => Buffer.from([byte])))).toEqual(['größe']);
  expect(linesOf()).toEqual([]);
});

test('a line that is too long is cut with a mark, and the next one is whole', () => {
  const [long = '', next] = linesOf('x'.repeat(60_000), 'x'.repeat(60_000), '\nnext\n');
  expect(long).toBe(`${'x'.repeat(65_536)} … (the line is longer)`);
  expect(next).toBe('next');
});

test('the last lines are kept, up to a length altogether, and one at least', () => {
  const kept = new LastLines(3, 10);
  for (const line of ['a', 'b', 'c', 'd']) kept.add(line);
  expect(kept.lines).toEqual(['b', 'c', 'd']);
  kept.add('12345678');
  expect(kept.lines).toEqual(['c', 'd', '12345678']);
  kept.add('x'.repeat(20));
  expect(kept.lines).toEqual(['x'.repeat(20)]);
});
