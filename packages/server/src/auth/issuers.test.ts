import { base64url, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose';
import { TestIssuer } from '@davit/testkit/issuer';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Issuers } from './issuers.ts';

let issuer: TestIssuer;
let now: number;
beforeEach(async () => {
  issuer = await TestIssuer.start();
  now = Date.now();
});
afterEach(() => issuer.close());

const seconds = (): number => Math.floor(now / 1000);
const pass = (time: number): void => {
  now += time * 1000;
};

function issuers(names: readonly string[] = [issuer.url]): Issuers {
  return new Issuers({ issuers: names, audiences: ['davit'], clock: { now: () => new Date(now) }, answerMilliseconds: 300 });
}

describe('a JWT', () => {
  test.each(['RS256', 'PS384', 'ES256', 'ES512', 'EdDSA'])('signed with %s by a configured issuer is accepted', async (alg) => {
    await issuer.rotate({ alg });
    const token = await issuer.sign({ sub: 'ada' });
    expect(await issuers().verify(token)).toMatchObject({ issuer: issuer.url, subject: 'ada' });
  });

  test('that names no key is tried with each that it may be meant for', async () => {
    await issuer.rotate({ kid: null });
    const older = await issuer.sign({ sub: 'ada' });
    await issuer.rotate({ kid: null, keep: true });
    const all = issuers();
    expect(await all.verify(older)).toMatchObject({ subject: 'ada' });
    expect(await all.verify(await issuer.sign({ sub: 'bob' }))).toMatchObject({ subject: 'bob' });
  });

  const faults: readonly (readonly [string, Record<string, unknown>, string])[] = [
    ['for another audience', { aud: 'another' }, 'audience'],
    ['without an audience', { aud: undefined }, 'audience'],
    ['that is not valid yet', { nbf: Math.floor(Date.now() / 1000) + 300 }, 'not valid yet'],
    ['that was issued in the future', { iat: Math.floor(Date.now() / 1000) + 300 }, 'issued in the future'],
    ['without an end', { exp: undefined }, 'expires'],
    ['without a subject', { sub: undefined }, 'no subject (sub)'],
    ['with an empty subject', { sub: '' }, 'no subject (sub)'],
    ['of an issuer that is not configured', { iss: 'https://elsewhere.example.org' }, 'issuer'],
    ['without an issuer', { iss: undefined }, 'issuer'],
  ];
  test.each(faults)('%s is refused, saying why', async (_what, claims, why) => {
    const token = await issuer.sign({ sub: 'ada', ...claims });
    await expect(issuers().verify(token)).rejects.toMatchObject({ code: 'UNAUTHORIZED', message: expect.stringContaining(why) });
  });

  test('that has expired is told apart; clocks may differ by half a minute', async () => {
    const all = issuers();
    const token = await issuer.sign({ sub: 'ada', exp: seconds() + 60 });
    pass(80);
    expect(await all.verify(token)).toMatchObject({ subject: 'ada' });
    pass(20);
    await expect(all.verify(token)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' });
  });

  test('whose signature is not of the issuer’s key is refused', async () => {
    const kid = 'same';
    await issuer.rotate({ kid });
    const all = issuers();
    const good = await issuer.sign({ sub: 'ada' });
    await all.verify(good);
    await issuer.rotate({ kid });
    const forged = await issuer.sign({ sub: 'ada' });
    await expect(all.verify(forged)).rejects.toMatchObject({ message: expect.stringContaining('signature') });
    const [head, , signature] = good.split('.');
    const claims = base64url.encode(JSON.stringify({ iss: issuer.url, aud: 'davit', sub: 'root', exp: seconds() + 600 }));
    await expect(all.verify(`${head}.${claims}.${signature}`)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });

  test('without a signature, or signed with the public key as a shared secret, is refused', async () => {
    await issuer.rotate({ alg: 'RS256' });
    const claims = { iss: issuer.url, aud: 'davit', sub: 'ada', exp: seconds() + 600 };
    const secret = new TextEncoder().encode(JSON.stringify(issuer.publicKey));
    const kid = issuer.publicKey.kid ?? '';
    const shared = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid }).sign(secret);
    expect(decodeProtectedHeader(shared).alg).toBe('HS256');
    const unsigned = new UnsecuredJWT(claims).encode();
    await expect(issuers().verify(shared)).rejects.toMatchObject({ message: expect.stringContaining('algorithm') });
    await expect(issuers().verify(unsigned)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });

  test('of unknown issuers and of none makes us ask nobody', async () => {
    const token = await issuer.sign({ sub: 'ada' });
    await expect(issuers([]).verify(token)).rejects.toMatchObject({ message: expect.stringContaining('DAVIT_OIDC_ISSUER') });
    await expect(issuers(['https://issuer.example.org']).verify(token)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    await expect(issuers().verify('eyJ.e30.')).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    expect(issuer.fetches).toBe(0);
  });
});

describe('the keys of an issuer', () => {
  test('are fetched once for many tokens at once', async () => {
    const all = issuers();
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, index) => issuer.sign({ sub: `person ${index}` })));
    await Promise.all(tokens.map((token) => all.verify(token)));
    expect(issuer.fetches).toBe(1);
  });

  test('may change: a token of a new key is accepted, and one of a key that was taken back no more', async () => {
    const all = issuers();
    const before = await issuer.sign({ sub: 'ada' });
    await all.verify(before);
    await issuer.rotate();
    pass(15);
    expect(await all.verify(await issuer.sign({ sub: 'ada' }))).toMatchObject({ subject: 'ada' });
    await expect(all.verify(before)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });

  test('are asked for no more than every ten seconds, whatever keys tokens name', async () => {
    const all = issuers();
    await all.verify(await issuer.sign({ sub: 'ada' }));
    const stranger = await TestIssuer.start();
    try {
      const forge = (): Promise<string> => stranger.sign({ sub: 'ada', iss: issuer.url });
      for (let count = 0; count < 5; count += 1) {
        await expect(all.verify(await forge())).rejects.toMatchObject({ message: expect.stringContaining('key') });
      }
      expect(issuer.fetches).toBe(1);
      pass(11);
      for (let count = 0; count < 5; count += 1) await expect(all.verify(await forge())).rejects.toThrow('key');
      expect(issuer.fetches).toBe(2);
    } finally {
      await stranger.close();
    }
  });

  test('go on to be good while the issuer is away, for half a day', async () => {
    const all = issuers();
    const token = await issuer.sign({ sub: 'ada', exp: seconds() + 86_400 });
    await all.verify(token);
    issuer.trouble = 503;
    for (let hours = 0; hours < 11; hours += 1) {
      pass(3600);
      expect(await all.verify(token)).toMatchObject({ subject: 'ada' });
    }
    pass(2 * 3600);
    await expect(all.verify(token)).rejects.toMatchObject({ code: 'ISSUER_UNAVAILABLE' });
  });
});

describe('an issuer in trouble', () => {
  test.each([
    ['that answers an error', (): void => void (issuer.trouble = 500), 'answered 500'],
    ['that says nothing', (): void => void (issuer.trouble = 'silence'), 'in time'],
    ['that claims to be another', (): void => void (issuer.alias = 'https://issuer.example.org'), 'says that it is'],
  ] as const)('%s is told with its reason, and asked again after a pause only', async (_what, trouble, why) => {
    const all = issuers();
    const token = await issuer.sign({ sub: 'ada' });
    trouble();
    const refusal = { code: 'ISSUER_UNAVAILABLE', message: expect.stringContaining(why) };
    await expect(all.verify(token)).rejects.toMatchObject(refusal);
    issuer.trouble = null;
    issuer.alias = null;
    await expect(all.verify(token)).rejects.toMatchObject(refusal);
    pass(11);
    expect(await all.verify(token)).toMatchObject({ subject: 'ada' });
  });

  test('that is not there is told, and holds up no request twice', async () => {
    const all = issuers();
    const token = await issuer.sign({ sub: 'ada' });
    await issuer.close();
    for (let count = 0; count < 3; count += 1) {
      await expect(all.verify(token)).rejects.toMatchObject({ code: 'ISSUER_UNAVAILABLE' });
    }
    issuer = await TestIssuer.start();
  });
});
