import { expect, test } from 'vitest';
import { Packets, remoteText } from './sideband.ts';

test('the end of the output is withheld, however it is cut, so that lines can follow', () => {
  const packets = new Packets();
  const output = '0009\u0001abcd0005\u00010000';
  const sent = output.split('').map((letter) => packets.add(Buffer.from(letter, 'latin1')).toString('latin1'));
  expect(sent.join('')).toBe('0009\u0001abcd0005\u0001');
  expect(packets.hasEnded).toBe(true);
  expect(packets.end().toString()).toBe('0000');
});

test('output without packets is refused', () => {
  expect(() => new Packets().add(Buffer.from('fatal: no'))).toThrow('something other than packets');
});

test('a line for the client names its length and its band', () => {
  expect(remoteText('é\n').toString('latin1')).toBe('0008\u0002Ã©\n');
});
