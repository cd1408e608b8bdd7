import { execFile } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { AppError } from '@davit/base';
import { DatabaseError } from 'pg';
import { describe, expect, test } from 'vitest';
import { createLog } from './log.ts';
import { LogOutput, type Write } from './log-output.ts';

const secret = 'canary:s3cret/with+every=kind of"mark';
const forms = [secret, Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex'), encodeURIComponent(secret)];

/** Creates a log and returns it with the text written to it. */
function kept(write?: Write): { readonly log: ReturnType<typeof createLog>; readonly text: () => string } {
  let text = '';
  const into: Write = (_descriptor, bytes) => {
    text += Buffer.from(bytes).toString();
    return bytes.length;
  };
  return { log: createLog({ logLevel: 'info' }, new LogOutput(2, write ?? into)), text: () => text };
}

async function thrown(action: () => unknown): Promise<unknown> {
  try {
    return await action();
  } catch (error) {
    return error;
  }
}

describe('an error in the log carries no form of a secret', () => {
  const pattern = forms.map((form) => form.replaceAll(/[+.*?^${}()|[\]\\/]/g, String.raw`\$&`)).join('|');
  const cases: readonly (readonly [string, () => unknown])[] = [
    ['a pattern', () => new RegExp(`(${pattern}`)],
    ['text that is no JSON', () => JSON.parse(secret)],
    ['text in JSON', () => JSON.parse(`{"a": "${forms[1]}" b}`)],
    ['a number', () => BigInt(forms[1] ?? '')],
    ['an argument', () => promisify(execFile)('/bin/false', [secret, ...forms], { env: { SECRET: secret } })],
    ['a program that prints it', () => promisify(execFile)('/bin/sh', ['-c', `echo '${forms[1]}' >&2; exit 1`])],
    ['a header', () => new Headers({ authorization: `Token ${forms[2]}\n` })],
    ['a URL', () => new URL(`no url ${secret}`)],
    ['an address', () => fetch(`http://user:${encodeURIComponent(secret)}@127.0.0.1:9/`)],
    ['an operator', () => Reflect.apply((object: object) => 'a' in object, null, [forms[1]])],
    ['its cause', () => Promise.reject(new Error('outer', { cause: new Error(`inner ${forms[1]}`) }))],
    ['one of several', () => Promise.reject(new AggregateError([new Error(`one ${forms[2]}`)]))],
    ['a property', () => Promise.reject(Object.assign(new Error('plain'), { config: { password: secret }, value: forms[1] }))],
    ['no error', () => Promise.reject(secret)],
    [
      'values of a statement',
      () => {
        const error = new DatabaseError(`invalid input syntax for type json: "${secret}"`, 1, 'error');
        return Promise.reject(Object.assign(error, { code: '22P02', detail: `Key (v)=(${secret})`, where: forms[1] }));
      },
    ],
  ];
  test.each(cases)('%s', async (_what, action) => {
    const error = await thrown(action);
    const { log, text } = kept();
    log.logger.error({ err: error, ...(error instanceof Error && { error, reason: error }) }, 'it failed');
    log.logger.error({ err: error });
    if (error instanceof Error) log.logger.error(error);
    expect(text()).toContain('it failed');
    for (const form of [...forms, 's3cret']) expect(text()).not.toContain(form);
    const [line = ''] = text().split('\n');
    expect(JSON.parse(line)).toMatchObject({ level: 50, err: { type: expect.any(String), message: expect.any(String) } });
  });

  test('and still says what happened and where', () => {
    const { log, text } = kept();
    const cause = new TypeError("Cannot read properties of undefined (reading 'x')");
    log.logger.warn({ err: new AppError({ code: 'REMOTE_UNREACHABLE', message: 'h cannot be reached.', cause }) }, 'retried');
    const line: unknown = JSON.parse(text());
    expect(line).toMatchObject({
      msg: 'retried',
      err: {
        type: 'AppError',
        code: 'REMOTE_UNREACHABLE',
        message: 'h cannot be reached.',
        stack: expect.stringContaining('log.test.ts'),
        cause: { type: 'TypeError', message: expect.stringContaining('Cannot read properties of undefined') },
      },
    });
  });
});

describe('a log that cannot be written', () => {
  test('on a full disk loses lines, counts them, and goes on', () => {
    const full = openSync('/dev/full', 'w');
    const output = new LogOutput(full);
    const { logger } = createLog({ logLevel: 'info' }, output);
    for (let count = 0; count < 3; count += 1) logger.info({}, 'lost');
    expect(output).toMatchObject({ dropped: 3, failure: 'ENOSPC' });
    closeSync(full);
  });

  test('says how many lines it lacks as soon as there is room again, and tears no line', () => {
    let remaining = 40;
    let text = '';
    const output = new LogOutput(2, (_descriptor, bytes) => {
      if (remaining === 0) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
      const written = Math.min(remaining, bytes.length);
      remaining -= written;
      text += Buffer.from(bytes.subarray(0, written)).toString();
      return written;
    });
    const { logger } = createLog({ logLevel: 'info' }, output);
    logger.info({}, 'torn in the middle, as the disk ran out of room');
    logger.info({}, 'lost');
    remaining = Infinity;
    logger.info({}, 'found');
    const [torn, gap, found] = text.split('\n');
    expect(torn).toHaveLength(40);
    expect(JSON.parse(gap ?? '')).toMatchObject({ dropped: 2, msg: expect.stringContaining('ENOSPC') });
    expect(JSON.parse(found ?? '')).toMatchObject({ msg: 'found' });
    expect(output).toMatchObject({ dropped: 2, failure: null });
  });

  test('keeps lines for a reader that is slow, in order, and no more than a mebibyte of them', () => {
    let isFull = true;
    let text = '';
    const output = new LogOutput(2, (_descriptor, bytes) => {
      if (isFull) throw Object.assign(new Error('try again'), { code: 'EAGAIN' });
      text += Buffer.from(bytes).toString();
      return bytes.length;
    });
    output.write('first\n');
    output.write('second\n');
    for (let count = 0; count < 3; count += 1) output.write(`${'x'.repeat(600_000)}\n`);
    expect(output).toMatchObject({ dropped: 2, failure: null });
    isFull = false;
    output.flush();
    output.write('last\n');
    expect(text.replaceAll(/x+/g, 'x').split('\n')).toEqual([
      'first',
      'second',
      'x',
      expect.stringContaining('2 lines of this log could not be written'),
      'last',
      '',
    ]);
  });
});
