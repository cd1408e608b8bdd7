import { describe, expect, test } from 'vitest';
import type { LogLine } from '../workload.ts';
import { cutMark, LogReader, longestLine } from './log-lines.ts';

function linesOf(...chunks: readonly Buffer[]): LogLine[] {
  const reader = new LogReader('stdout');
  return [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()];
}

const line = (second: number, text: string): LogLine => ({
  timestamp: `2026-01-02T03:04:0${second}.123456789Z`,
  stream: 'stdout',
  text,
});

describe('a log that comes in pieces of any size', () => {
  const lines = [
    line(1, 'first'),
    line(2, ''),
    // A timestamp in the middle of a line belongs to its text.
    line(3, 'é€😀 at 2026-01-02T03:04:05.123456789Z 2026-01-02T03:04:05Z'),
    line(4, '2026-01-02T03:04:05.123456789Z of the process itself'),
    line(5, 'last'),
  ];
  const bytes = Buffer.from(lines.map(({ timestamp, text }) => `${timestamp} ${text}\n`).join(''));

  test('has the same lines wherever it is cut', () => {
    for (let at = 0; at <= bytes.length; at += 1) {
      expect([at, linesOf(bytes.subarray(0, at), bytes.subarray(at))]).toEqual([at, lines]);
    }
  });

  test('has the same lines when it comes byte by byte, also without a line break at its end', () => {
    const single = (all: Buffer): Buffer[] => Array.from(all, (byte) => Buffer.of(byte));
    expect(linesOf(...single(bytes))).toEqual(lines);
    expect(linesOf(...single(bytes.subarray(0, -1)))).toEqual(lines);
  });

  test('tells a line as soon as it is whole', () => {
    const reader = new LogReader('stdout');
    expect(reader.push(Buffer.from('2026-01-02T03:04:01.123456789Z one'))).toEqual([]);
    expect(reader.push(Buffer.from('\n2026-01'))).toEqual([line(1, 'one')]);
  });

  test('holds no more of a line than is shown of it', () => {
    const reader = new LogReader('stdout');
    const piece = Buffer.alloc(10_000, 'x');
    reader.push(Buffer.from('2026-01-02T03:04:01.123456789Z '));
    for (let count = 0; count < 100; count += 1) expect(reader.push(piece)).toEqual([]);
    expect(reader.held).toBeLessThan(2 * longestLine);
    const next = Buffer.from('\n2026-01-02T03:04:02.123456789Z next\n');
    expect(reader.push(next)).toEqual([line(1, 'x'.repeat(longestLine) + cutMark), line(2, 'next')]);
  });

  test('has no lines of what nodes say without a time, as nobody could tell where to go on from them', () => {
    expect(linesOf(Buffer.from(`unable to retrieve container logs for containerd://1`))).toEqual([]);
  });
});
