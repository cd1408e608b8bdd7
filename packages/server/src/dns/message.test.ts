import { Sensitive } from '@davit/base';
import { expect, test } from 'vitest';
import type { TsigKey } from '../configuration.ts';
import { parseReply, sign, txtUpdate, zoneQuestion } from './message.ts';

const key: TsigKey = { name: 'davit', algorithm: 'hmac-sha256', secret: new Sensitive('c2VjcmV0IG9mIHRoZSB0ZXN0cw==') };

/** Returns the message as an answer with this response code. */
function answerTo(message: Buffer, code: number): Buffer {
  const answer = Buffer.from(message);
  answer.writeUInt16BE(0x8000 | code, 2);
  return answer;
}

test('an update names the zone, and adds or removes one record only', () => {
  const record = { name: '_acme-challenge.apps.example.org', text: 'abc' };
  const add = txtUpdate(7, 'example.org', 'add', record);
  expect(add.subarray(0, 12).toString('hex')).toBe('000728000001000000010000');
  expect(add.toString('latin1')).toContain(
    '\u000f_acme-challenge\u0004apps\u0007example\u0003org\0\0\u0010\0\u0001\0\0\0<\0\u0004\u0003abc',
  );
  const remove = txtUpdate(7, 'example.org', 'remove', record).toString('latin1');
  expect(remove).toContain('\0\u0010\0\u00fe\0\0\0\0\0\u0004\u0003abc');
});

test('an answer without the signature of the key is not believed', () => {
  const asked = sign(zoneQuestion(9, 'example.org'), key, 1_700_000_000);
  expect(() => parseReply(answerTo(zoneQuestion(9, 'example.org'), 0), asked, key)).toThrow('not signed');
  expect(() => parseReply(answerTo(asked.message, 0), asked, key)).toThrow('not signed');
  expect(() => parseReply(answerTo(zoneQuestion(8, 'example.org'), 0), asked, key)).toThrow('another request');
  expect(parseReply(answerTo(zoneQuestion(9, 'example.org'), 5), asked, key)).toEqual({ error: 'REFUSED', zone: null });
});

test('a malformed answer is refused', () => {
  const asked = { message: zoneQuestion(9, 'example.org'), mac: null };
  const loop = Buffer.concat([answerTo(asked.message, 0).subarray(0, 12), Buffer.from([0xc0, 12, 0, 0, 0, 0])]);
  expect(() => parseReply(loop, asked, null)).toThrow('without an end');
  expect(() => parseReply(asked.message.subarray(0, 14), asked, null)).toThrow('out of range');
});
